//! The engine as its users see it, with a small experiment of its own.

mod child;
mod command_line;
mod concurrency;
mod damage;
mod make;
mod reruns;
mod toy;
mod workspace;
