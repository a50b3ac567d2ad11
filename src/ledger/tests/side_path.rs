//! The side path: numbering, slots, failures, the end.

use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::*;
use crate::clock::SystemClock;

/// A store that asks a gate before every append and writes down what it is told.
#[derive(Debug)]
struct Scripted {
    kept: MemoryStore,
    /// One message lets one append through; a closed channel lets all through.
    gate: Option<mpsc::Receiver<()>>,
    /// Appends that succeed before one fails.
    fails_after: Option<usize>,
    panics: bool,
    interval: Option<Duration>,
    told: mpsc::Sender<&'static str>,
}

impl Scripted {
    fn new() -> (Self, MemoryStore, mpsc::Receiver<&'static str>) {
        let kept = MemoryStore::new();
        let (told, heard) = mpsc::channel();
        let store =
            Self { kept: kept.clone(), gate: None, fails_after: None, panics: false, interval: None, told };
        (store, kept, heard)
    }
}

impl LedgerStore for Scripted {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        let _ = self.told.send("append");
        if let Some(gate) = &self.gate {
            let _ = gate.recv();
        }
        assert!(!self.panics, "scripted");
        match &mut self.fails_after {
            Some(0) => return Err(StoreError::Other("disk full".into())),
            Some(left) => *left -= 1,
            None => {}
        }
        self.kept.append(events)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let _ = self.told.send("sync");
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

    fn sync_interval(&self) -> Option<Duration> {
        self.interval
    }
}

fn open(store: Scripted, backlog: usize) -> Ledger {
    let options = LedgerOptions { backlog, ..LedgerOptions::default() };
    Ledger::new(session(), clock(), Box::new(store), options).unwrap()
}

fn seqs(store: &MemoryStore) -> Vec<u64> {
    store.events().iter().map(|event| event.seq).collect()
}

/// L-4
#[tokio::test]
async fn a_full_backlog_holds_the_next_recorder_back_until_a_write_is_done() {
    let (mut store, kept, heard) = Scripted::new();
    let (open_gate, gate) = mpsc::channel();
    store.gate = Some(gate);
    let ledger = open(store, 3);
    for number in 0..3 {
        assert_eq!(ledger.try_reserve().unwrap().record(body(number), []), Some(number + 1));
    }
    assert_eq!(heard.recv(), Ok("append"));
    let mut fourth = Box::pin(ledger.reserve());
    assert!(fourth.as_mut().now_or_never().is_none());
    assert!(ledger.try_reserve().is_none());
    assert!(seqs(&kept).is_empty());
    drop(open_gate);
    assert_eq!(fourth.await.record(body(3), []), Some(4));
    ledger.flush().await.unwrap();
    assert_eq!(seqs(&kept), [1, 2, 3, 4]);
}

/// L-4
#[tokio::test]
async fn a_slot_that_is_dropped_is_given_back() {
    let (store, kept, _heard) = Scripted::new();
    let ledger = open(store, 1);
    let slot = ledger.try_reserve().unwrap();
    assert!(ledger.try_reserve().is_none());
    drop(slot);
    ledger.try_reserve().unwrap().record(body(1), []);
    ledger.flush().await.unwrap();
    assert_eq!(seqs(&kept), [1]);
    assert!(ledger.try_reserve().is_some());
}

/// L-4, PO-8: what ends something begun does not wait for a full backlog, and leaves the backlog as long as it was.
#[tokio::test]
async fn an_end_is_recorded_beyond_a_full_backlog() {
    let (mut store, kept, _heard) = Scripted::new();
    let (open_gate, gate) = mpsc::channel();
    store.gate = Some(gate);
    let ledger = open(store, 2);
    for number in 0..2 {
        ledger.try_reserve().unwrap().record(body(number), []);
    }
    assert_eq!(ledger.reserve_now().record(body(2), []), Some(3));
    drop(ledger.reserve_now());
    assert!(ledger.try_reserve().is_none(), "no slot comes from one that was beyond the backlog");
    drop(open_gate);
    ledger.flush().await.unwrap();
    assert_eq!(seqs(&kept), [1, 2, 3]);
    let slots: Vec<_> = std::iter::from_fn(|| ledger.try_reserve()).take(3).collect();
    assert_eq!(slots.len(), 2);
}

/// L-1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_recorders_leave_no_gap() {
    let (store, kept, _heard) = Scripted::new();
    let ledger = open(store, 4);
    let recorders: Vec<_> = (0..8_u64)
        .map(|recorder| {
            let ledger = ledger.clone();
            tokio::spawn(async move {
                let mut mine = Vec::new();
                for number in 0..200 {
                    mine.extend(ledger.reserve().await.record(body(recorder * 1_000 + number), []));
                }
                mine
            })
        })
        .collect();
    let mut given = Vec::new();
    for recorder in recorders {
        let mine = recorder.await.unwrap();
        assert!(mine.is_sorted(), "one recorder's events keep their order");
        given.extend(mine);
    }
    given.sort_unstable();
    assert_eq!(given, (1..=1_600).collect::<Vec<u64>>());
    drop(ledger);
    assert_eq!(seqs(&kept), given);
}

/// L-1
#[tokio::test]
async fn an_event_carries_time_session_turn_and_sources() {
    let time = ManualClock::new();
    let store = MemoryStore::new();
    let options = LedgerOptions::default();
    let ledger = Ledger::new(session(), Arc::new(time.clone()), Box::new(store.clone()), options).unwrap();
    let first = ledger.reserve().await.record(body(1), None);
    time.advance(Duration::from_millis(5));
    ledger.set_turn(Some(2));
    ledger.reserve().await.record(body(2), first);
    let expected = LedgerEvent {
        time: Timestamp(event("s-1", 2).time.0 + 5),
        turn: Some(2),
        source_seqs: vec![1],
        ..event("s-1", 2)
    };
    assert_eq!(store.events(), [event("s-1", 1), expected]);
}

/// L-1
#[tokio::test]
async fn a_ledger_goes_on_where_the_store_is() {
    let mut store = MemoryStore::new();
    store.append(&[event("s-1", 1), event("s-1", 2), event("other", 1)]).unwrap();
    for expected in [3, 4] {
        let options = LedgerOptions::default();
        let ledger = Ledger::new(session(), clock(), Box::new(store.clone()), options).unwrap();
        assert_eq!(ledger.reserve().await.record(body(0), []), Some(expected));
        assert_eq!(ledger.events().await.unwrap().len(), usize::try_from(expected).unwrap());
    }
}

/// L-4
#[tokio::test]
async fn a_store_in_memory_has_the_event_at_once_and_never_waits() {
    let (ledger, store) = Ledger::in_memory(session(), clock());
    let slots: Vec<_> = (0..100).map(|_| ledger.try_reserve().unwrap()).collect();
    for (number, slot) in (1..).zip(slots) {
        slot.record(body(number), []);
        assert_eq!(seqs(&store).last(), Some(&number));
    }
}

/// A ledger that keeps nothing costs nothing.
#[tokio::test]
async fn a_disabled_ledger_builds_nothing() {
    let ledger = Ledger::disabled(session(), clock());
    assert!(!ledger.is_enabled());
    let seq = ledger.try_reserve().unwrap().record_with(|| -> EventBody { panic!("must not be built") }, []);
    assert_eq!(seq, None);
    assert_eq!(
        (ledger.flush().await.is_ok(), ledger.events().await.unwrap(), ledger.dropped()),
        (true, vec![], 0)
    );
}

/// A store that fails ends the recording and nothing else. What is on disk then, see L-8.
#[tokio::test]
async fn after_a_failure_nothing_hangs_and_the_ledger_says_so() {
    for successes in 0..3 {
        let (mut store, kept, _heard) = Scripted::new();
        store.fails_after = Some(successes);
        let ledger = open(store, 1);
        for number in 0..10 {
            ledger.reserve().await.record(body(number), []);
        }
        let error = ledger.flush().await.unwrap_err().to_string();
        assert_eq!(error, "disk full");
        assert_eq!(ledger.health().unwrap().to_string(), "disk full");
        assert_eq!(seqs(&kept), (1..=successes as u64).collect::<Vec<_>>());
        assert_eq!(ledger.dropped(), 10 - successes as u64);
        assert!(!ledger.is_enabled());
        let built = ledger.reserve().await.record_with(|| -> EventBody { panic!("must not be built") }, []);
        assert_eq!((built, ledger.dropped()), (None, 11 - successes as u64));
        assert!(ledger.written(1).await.is_ok() == (successes > 0));
        assert!(ledger.events().await.is_err());
    }
}

/// Nobody waits for a store that has failed.
#[tokio::test]
async fn a_failure_wakes_every_waiting_recorder() {
    let (mut store, _kept, heard) = Scripted::new();
    let (open_gate, gate) = mpsc::channel();
    store.gate = Some(gate);
    store.fails_after = Some(0);
    let ledger = open(store, 2);
    ledger.try_reserve().unwrap().record(body(1), []);
    assert_eq!(heard.recv(), Ok("append"));
    ledger.try_reserve().unwrap().record(body(2), []);
    let (mut one, mut two) = (Box::pin(ledger.reserve()), Box::pin(ledger.flush()));
    assert!(one.as_mut().now_or_never().is_none() && two.as_mut().now_or_never().is_none());
    drop(open_gate);
    assert_eq!(one.await.record(body(3), []), None);
    assert!(two.await.is_err());
    assert_eq!(ledger.dropped(), 3);
}

/// A store that panics has failed.
#[tokio::test]
async fn a_store_that_panics_stops_the_ledger_and_nothing_else() {
    let (mut store, _kept, _heard) = Scripted::new();
    store.panics = true;
    let ledger = open(store, 1);
    for number in 0..5 {
        ledger.reserve().await.record(body(number), []);
    }
    let error = ledger.flush().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "a store or redactor of the ledger panicked; nothing is recorded from here on"
    );
    assert_eq!(ledger.dropped(), 5);
}

#[derive(Debug)]
struct Panics;

impl Redactor for Panics {
    fn redact(&self, _body: &mut EventBody) {
        panic!("scripted");
    }
}

/// L-11
#[tokio::test]
async fn a_redactor_that_panics_lets_nothing_through() {
    let (threaded, kept, _heard) = Scripted::new();
    let inline = MemoryStore::new();
    let stores: [(Box<dyn LedgerStore>, MemoryStore); 2] =
        [(Box::new(threaded), kept), (Box::new(inline.clone()), inline)];
    for (store, kept) in stores {
        let options = LedgerOptions { redactors: vec![Arc::new(Panics)], ..LedgerOptions::default() };
        let ledger = Ledger::new(session(), clock(), store, options).unwrap();
        ledger.reserve().await.record(body(1), []);
        assert!(matches!(ledger.flush().await, Err(LedgerError::Panicked)));
        assert_eq!((seqs(&kept), ledger.dropped()), (vec![], 1));
    }
}

/// L-4: what was taken is written.
#[tokio::test]
async fn dropping_the_last_handle_writes_what_is_queued_and_syncs() {
    let (mut store, kept, heard) = Scripted::new();
    let (open_gate, gate) = mpsc::channel();
    store.gate = Some(gate);
    let ledger = open(store, 10);
    for number in 0..5 {
        ledger.try_reserve().unwrap().record(body(number), []);
    }
    let slot = ledger.try_reserve().unwrap();
    drop(ledger);
    drop(open_gate);
    slot.record(body(5), []);
    assert_eq!(seqs(&kept), [1, 2, 3, 4, 5, 6]);
    assert_eq!(heard.iter().last(), Some("sync"));
}

/// L-7
#[tokio::test]
async fn what_is_left_unsynced_is_synced_when_the_interval_is_over() {
    let (mut store, _kept, heard) = Scripted::new();
    store.interval = Some(Duration::from_millis(1));
    let options = LedgerOptions::default();
    let ledger = Ledger::new(session(), SystemClock::shared(), Box::new(store), options).unwrap();
    ledger.reserve().await.record(body(1), []);
    assert_eq!((heard.recv(), heard.recv()), (Ok("append"), Ok("sync")));
}

/// L-7
#[tokio::test]
async fn waiting_for_an_event_to_be_written_does_not_sync() {
    let (store, kept, heard) = Scripted::new();
    let ledger = open(store, 10);
    let seq = ledger.reserve().await.record(body(1), []).unwrap();
    ledger.written(seq).await.unwrap();
    assert_eq!((seqs(&kept), heard.try_iter().collect::<Vec<_>>()), (vec![1], vec!["append"]));
    ledger.flush().await.unwrap();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["sync"]);
}

/// L-4
#[tokio::test]
async fn what_is_queued_during_a_write_becomes_one_batch() {
    let (mut store, kept, heard) = Scripted::new();
    let (open_gate, gate) = mpsc::channel();
    store.gate = Some(gate);
    let ledger = open(store, 10);
    ledger.try_reserve().unwrap().record(body(0), []);
    assert_eq!(heard.recv(), Ok("append"));
    for number in 1..6 {
        ledger.try_reserve().unwrap().record(body(number), []);
    }
    drop(open_gate);
    ledger.flush().await.unwrap();
    assert_eq!((seqs(&kept).len(), heard.try_iter().collect::<Vec<_>>()), (6, vec!["append", "sync"]));
}

/// L-7
#[tokio::test]
async fn several_ledgers_share_a_store_each_with_its_own_numbering() {
    let kept = MemoryStore::new();
    let shared = SharedStore::new(Box::new(kept.clone()));
    let ledgers = ["a", "b"].map(|name| {
        let options = LedgerOptions::default();
        Ledger::new(SessionId::from(name), clock(), Box::new(shared.clone()), options).unwrap()
    });
    for number in 0..3 {
        for ledger in &ledgers {
            ledger.reserve().await.record(body(number), []);
        }
    }
    assert_eq!(seqs(&kept), [1, 1, 2, 2, 3, 3]);
    assert_eq!(ledgers[1].events().await.unwrap().len(), 3);
}

/// A clock whose calendar is set back with every look.
#[derive(Debug)]
struct Backwards(Mutex<u64>);

impl Clock for Backwards {
    fn now(&self) -> Timestamp {
        let mut left = self.0.lock().unwrap();
        *left -= 1;
        Timestamp(*left)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _duration: Duration) -> crate::clock::Sleep {
        Box::pin(std::future::pending())
    }
}

/// L-1
#[tokio::test]
async fn order_is_by_seq_whatever_the_clock_says() {
    let store = MemoryStore::new();
    let clock = Arc::new(Backwards(Mutex::new(10)));
    let ledger = Ledger::new(session(), clock, Box::new(store.clone()), LedgerOptions::default()).unwrap();
    for number in 1..4 {
        ledger.reserve().await.record(body(number), []);
    }
    let order: Vec<_> = store.events().iter().map(|event| (event.seq, event.time.0)).collect();
    assert_eq!(order, [(1, 9), (2, 8), (3, 7)]);
}
