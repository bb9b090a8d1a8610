pub use factsmith;
