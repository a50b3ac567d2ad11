//! Programs as models write them.

use crate::support::{Host, brief};

/// CM-7
#[tokio::test]
async fn a_program_returns_its_value() {
    let host = Host::new();
    let outcome = host.run("return 1 + 1").await;
    insta::assert_json_snapshot!(brief(&outcome), @r#"{"value": 2}"#);
}

#[tokio::test]
async fn scratch() {
    let host = Host::new();
    for code in [
        "return 1 + 1",
        "console.log('hi', {a: 1}); return await tools.add({a: 1, b: 2})",
        "throw new Error('boom')",
        "const r = []; for (let i = 0; i < 50; i++) r.push(tools.add({a: i, b: 1})); return await Promise.all(r)",
        "while (true) {}",
        "await new Promise(() => {})",
        "try { await tools.fail({message: 'no'}) } catch (e) { return [e instanceof ToolCallError, e.toolName, e.code, e.message, e.stack] }",
        "await tools.fail({message: 'no'})",
        "return await tools.ad({a: 1})",
        "return eval('1')",
        "tools.slow({ms: 10000}); return 1",
        "await new Promise(r => setTimeout(r, 50)); return 'late'",
        "return Object.getOwnPropertyNames(globalThis).sort().join(' ')",
        "const a = []; for (;;) a.push({})",
        "return {id: 9007199254740993n}",
        "console.log(tools.add({a: 1, b: 2}))",
        "return new Map([['a', 1]])",
        "return import('x')",
    ] {
        let mut h = Host::new();
        let outcome = if code.starts_with("while") {
            h.limits.busy = std::time::Duration::from_millis(300);
            h.run(code).await
        } else {
            host.run(code).await
        };
        println!("{code}\n   => {}\n", brief(&outcome));
        if let Err(f) = &outcome.result {
            println!("      stack: {:?} frame {:?}", f.stack, f.frame);
        }
    }
    println!("{:?}", host.events().len());
}
