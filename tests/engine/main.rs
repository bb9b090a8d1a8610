//! The engine as its users see it, with a small experiment of its own.

mod budget;
mod child;
mod command_line;
mod concurrency;
mod damage;
mod explain;
mod keys;
mod make;
mod plan_is_run;
mod reruns;
mod synthetic;
mod toy;
mod views;
mod workspace;
