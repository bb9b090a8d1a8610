//! The engine as its users see it, with a small experiment of its own.

mod budget;
mod child;
mod command_line;
mod concurrency;
mod damage;
mod explain;
mod failures;
mod full_disk;
mod gc;
mod input_files;
mod keys;
mod kill;
mod large;
mod make;
mod plan_is_run;
mod reader;
mod receipt;
mod reruns;
mod shards;
mod signals;
mod synthetic;
mod toy;
mod verify;
mod views;
mod workspace;
