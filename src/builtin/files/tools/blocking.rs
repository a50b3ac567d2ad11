//! A thread for work that blocks.
//!
//! Owns the hand-over to the runtime's blocking pool. It must never leave work behind: it waits for its end,
//! cancelled or not, as the pipeline demands of every body (P-14).

use tokio::runtime::Handle;

use crate::tool::ToolError;

/// Runs `work` on the blocking pool; where there is no tokio runtime, on this thread.
///
/// Even the read of a small file goes there. The hand-over costs some tens of microseconds, more than a read
/// from the page cache; but whether a file is small, cached and on a disk that answers is known only once it
/// was opened. Read in place, one slow disk would hold up whoever polls: the lane of a run with all its other
/// sub-calls, or a worker of the host's runtime; and reads that a program starts together would wait for each
/// other.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let Ok(runtime) = Handle::try_current() else { return Ok(work()) };
    match runtime.spawn_blocking(work).await {
        Ok(value) => Ok(value),
        Err(error) => match error.try_into_panic() {
            // Goes on in the body, where the pipeline tells it from a failure.
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::failed("the host is shutting down; nothing was done")),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use futures_util::FutureExt as _;

    use super::*;

    /// P-15
    #[tokio::test]
    async fn a_panic_goes_on_in_the_body() {
        let caught = AssertUnwindSafe(off_thread(|| -> u8 { panic!("boom") })).catch_unwind().await;
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"boom"));
    }

    /// A tool needs no tokio around it.
    #[test]
    fn work_is_done_without_a_runtime_too() {
        assert_eq!(off_thread(|| 3).now_or_never().unwrap().unwrap(), 3);
    }

    /// A host that ends is told of, and nothing was done by halves.
    #[test]
    fn work_that_the_runtime_did_not_start_is_an_error() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        let _entered = handle.enter();
        let error = off_thread(|| 3).now_or_never().unwrap().unwrap_err();
        assert_eq!(error.message, "the host is shutting down; nothing was done");
    }
}
