//! A store that is slower than the tools (L-4).
//!
//! Owns a store that holds up every append until the run has had the time to do what it must not. It measures nothing:
//! figures stand in `benches/lane.rs`.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use isolane::clock::SystemClock;
use isolane::ids::SessionId;
use isolane::ledger::{EventBody, Ledger, LedgerEvent, LedgerOptions, LedgerStore, MemoryStore, StoreError};
use isolane::limits::RunLimits;
use serde_json::json;

use crate::support::{Host, Isolation, said, tool};

/// How many bodies ran, and how many events were kept.
#[derive(Debug, Default)]
struct Counts {
    ran: u64,
    kept: u64,
    /// What went beyond the bound.
    beyond: Vec<String>,
    most: usize,
}

#[derive(Debug)]
struct Slow {
    kept: MemoryStore,
    counts: Arc<(Mutex<Counts>, Condvar)>,
    backlog: u64,
}

impl LedgerStore for Slow {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        let (counts, changed) = &*self.counts;
        // Time in which a run that is not held back goes too far: a body runs when its start has a place.
        let too_far = |counts: &mut Counts| counts.ran <= counts.kept + self.backlog;
        let wait = Duration::from_millis(20);
        let (mut counts, waited) = changed.wait_timeout_while(counts.lock().unwrap(), wait, too_far).unwrap();
        if !waited.timed_out() {
            let (ran, kept) = (counts.ran, counts.kept);
            counts.beyond.push(format!("{ran} bodies ran with {kept} events kept"));
        }
        counts.most = counts.most.max(events.len());
        counts.kept += events.len() as u64;
        drop(counts);
        self.kept.append(events)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn last_seq(&mut self, session: &SessionId) -> Result<u64, StoreError> {
        self.kept.last_seq(session)
    }

    fn read(&mut self, session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError> {
        self.kept.read(session)
    }

    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError> {
        self.kept.read_all()
    }
}

/// L-4, L-5: what is pending is bounded by the places of the backlog, and the program has what it would have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_slower_than_the_tools_bounds_what_is_pending_and_changes_no_outcome() {
    const PROGRAM: &str = "
        const text = 'x'.repeat(4096);
        let sum = 0;
        for (let i = 0; i < 20; i++) sum += (await tools.size({ text })) as number;
        const many = await Promise.all(Array.from({ length: 40 }, (_, n) => tools.size({ text: text + n })));
        const both = await Promise.all([tools.size({ text: 'a' }), tools.size({ text: 'ab' })]);
        console.log(sum, many.length, both);
        return many;";
    for isolation in [Isolation::InProcess, Isolation::Process] {
        for backlog in [1, 4, 10] {
            let shared = Arc::new((Mutex::new(Counts::default()), Condvar::new()));
            let ran = Arc::clone(&shared);
            let size = tool("size", &json!({"text": {"type": "string"}}), &["text"], move |args| {
                ran.0.lock().unwrap().ran += 1;
                ran.1.notify_all();
                Ok(json!(args["text"].as_str().map(str::len)))
            });
            let mut host = Host::assemble(RunLimits::default(), vec![size], SystemClock::shared(), isolation);
            let expected = said(&host.run(PROGRAM).await);
            let kept = MemoryStore::new();
            *shared.0.lock().unwrap() = Counts::default();
            let store = Box::new(Slow {
                kept: kept.clone(),
                counts: Arc::clone(&shared),
                backlog: u64::try_from(backlog).unwrap(),
            });
            let options = LedgerOptions { backlog, ..LedgerOptions::default() };
            host.ledger = Ledger::new("s".into(), SystemClock::shared(), store, options).unwrap();
            assert_eq!(said(&host.run(PROGRAM).await), expected, "{isolation:?}, {backlog}");
            host.ledger.flush().await.unwrap();
            let counts = shared.0.lock().unwrap();
            assert_eq!(counts.beyond, Vec::<String>::new(), "{isolation:?}, {backlog}");
            assert!(counts.most <= backlog, "{} events at once, of {backlog}", counts.most);
            let events = kept.events();
            assert_eq!((counts.ran, events.len()), (62, 2 + 2 * 62));
            assert!(matches!(events.last().unwrap().body, EventBody::RunEnd(_)));
            assert_eq!(isolane::ledger::unsettled(&events).len(), 0);
        }
    }
}
