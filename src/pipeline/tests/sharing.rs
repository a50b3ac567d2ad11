//! What happens at the same time: calls beside changes, and interceptors whose end comes back to the pipeline.

use super::*;

/// P-15: an interceptor may own the attachment of another one, and add one when it goes.
#[tokio::test]
async fn an_interceptor_may_own_the_attachment_of_another() {
    struct Owns {
        pipeline: Pipeline,
        owned: Option<Attachment>,
    }
    impl Drop for Owns {
        fn drop(&mut self) {
            drop(self.owned.take());
            self.pipeline.add_pre(None, Arc::new(Pre(Decision::Allow))).keep();
        }
    }
    impl ResultObserver for Owns {
        fn observe(&self, _call: &Call, _result: &CallResult) {}
    }
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let denies = Pre(Decision::Deny { reason: "while it is there".to_owned() });
    let owned = Some(bench.pipeline.add_pre(None, Arc::new(denies)));
    let owner = Owns { pipeline: bench.pipeline.clone(), owned };
    let attachment = bench.pipeline.add_observer(None, Arc::new(owner));
    assert!(bench.call("add", json!({})).await.is_err());
    drop(attachment);
    assert!(bench.call("add", json!({})).await.is_ok());
}

/// P-3, P-8, P-10: a call sees one state of the interceptors, whatever comes and goes while it is under way.
#[tokio::test]
async fn a_call_sees_one_state_of_the_interceptors() {
    struct Notes(Arc<Mutex<Vec<String>>>, &'static str);
    impl ResultObserver for Notes {
        fn observe(&self, _call: &Call, _result: &CallResult) {
            self.0.lock().unwrap().push(self.1.to_owned());
        }
    }
    let bench = Bench::new(None);
    let there = bench.pipeline.add_observer(None, Arc::new(Notes(Arc::clone(&bench.log), "old")));
    let there = Arc::new(Mutex::new(Some(there)));
    let (pipeline, log) = (bench.pipeline.clone(), Arc::clone(&bench.log));
    bench.tool("turns", move |_| {
        if there.lock().unwrap().take().is_some() {
            pipeline.add_observer(None, Arc::new(Notes(Arc::clone(&log), "new"))).keep();
            let block = PostDecision::Block { feedback: "late".to_owned(), deferred: Vec::new() };
            pipeline.add_post(None, Arc::new(Post(block))).keep();
        }
        Ok(json!(3))
    });
    assert!(bench.call("turns", json!({})).await.is_ok());
    assert_eq!(bench.log(), "body old");
    assert!(bench.call("turns", json!({})).await.is_err());
    assert_eq!(bench.log(), "body new");
}

/// P-3: what belongs to a scope goes with it, and is not there for another scope of the same name.
#[tokio::test]
async fn interceptors_go_with_their_scope() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let registry = bench.pipeline.registry().clone();
    let denies = Arc::new(Pre(Decision::Deny { reason: "by the first".to_owned() }));
    bench.pipeline.add_pre(Some("agent".into()), Arc::clone(&denies) as _).keep();
    assert!(bench.call("add", json!({})).await.is_err());
    registry.close_scope(&"agent".into()).unwrap();
    registry.open_scope("agent".into(), None).unwrap();
    assert!(bench.call("add", json!({})).await.is_ok(), "opened anew, it is another scope");
    assert_eq!(Arc::strong_count(&denies), 2);
    bench.pipeline.add_pre(None, Arc::new(Pre(Decision::Allow))).keep();
    assert_eq!(Arc::strong_count(&denies), 1, "and what is gone is let go with the next change");
}

/// P-3: before there is a scope, an interceptor waits for it.
#[tokio::test]
async fn an_interceptor_waits_for_its_scope() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let denies = Pre(Decision::Deny { reason: "at last".to_owned() });
    bench.pipeline.add_pre(Some("late".into()), Arc::new(denies)).keep();
    bench.pipeline.registry().open_scope("late".into(), None).unwrap();
    assert!(bench.call_in(Some("late"), "add").await.is_err());
    assert!(bench.call_in(Some("agent"), "add").await.is_ok());
}
