//! The commands on facts of one's own.

mod edits;
mod facts;
mod folder;
