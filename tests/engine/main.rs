//! The engine as its users see it, with a small experiment of its own.

mod child;
mod command_line;
mod concurrency;
mod damage;
mod failures;
mod gc;
mod kill;
mod make;
mod reruns;
mod shards;
mod signals;
mod toy;
mod verify;
mod workspace;
