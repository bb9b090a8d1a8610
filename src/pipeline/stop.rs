//! How a run hears that it shall stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::signal::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Error, INTERRUPTED, Result};

/// Down until somebody asks the run to stop; then it takes no new cell and gives those in flight a few seconds to finish.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Raised by the first SIGINT or SIGTERM from now on; the second ends the process at once, and so do cells that need
    /// too long to finish.
    pub fn on_signals() -> Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the first signal must find the flag still down.
            flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&stop.0))
                .and_then(|_| flag::register(signal, Arc::clone(&stop.0)))
                .map_err(|error| Error::failure(format!("cannot listen to signals: {error}")))?;
        }
        Ok(stop)
    }

    /// Whether the run shall stop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
