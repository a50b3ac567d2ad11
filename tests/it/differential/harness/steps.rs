//! What each statement of a generated program does.
//!
//! Owns the order in which a statement's parts run. It never looks into a promise: it calls the machine, which does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::machine::{Fault, Machine, Promise, Val};
use super::program::{Block, Branch, Program, Site, Stmt};

/// Where it goes on after a statement.
pub(super) enum Flow {
    Next,
    Return(Val),
}

pub(super) type Running = Pin<Box<dyn Future<Output = Result<Flow, Fault>> + Send>>;

/// Runs the statements of a function or a part of it.
pub(super) fn block(machine: Machine, program: Arc<Program>, body: Block) -> Running {
    Box::pin(async move {
        for statement in body.iter() {
            match stmt(&machine, &program, statement).await? {
                Flow::Next => {}
                flow @ Flow::Return(_) => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    })
}

/// The promise of a call; a program that is stopped never has it.
async fn made(machine: &Machine, site: Site) -> Result<Promise, Fault> {
    match machine.call(site)? {
        Some(promise) => Ok(promise),
        None => std::future::pending().await,
    }
}

async fn stmt(machine: &Machine, program: &Arc<Program>, statement: &Stmt) -> Result<Flow, Fault> {
    let inner = |body: &Block| block(machine.clone(), Arc::clone(program), Arc::clone(body));
    match statement {
        Stmt::Await(site) => {
            let value = machine.wait(made(machine, *site).await?).await?;
            machine.log(format!("{} {}", site.id, value.show()));
        }
        Stmt::Loose(site) => {
            made(machine, *site).await?;
        }
        Stmt::Caught(site) => {
            let (promise, id) = (made(machine, *site).await?, site.id);
            machine.react(promise, move |machine, outcome| {
                if let Err(fault) = outcome {
                    machine.log(format!("{id} caught {}", fault.tell()));
                }
            });
        }
        Stmt::Later(site, between) => {
            let promise = made(machine, *site).await?;
            if let flow @ Flow::Return(_) = inner(between).await? {
                return Ok(flow);
            }
            let value = machine.wait(promise).await?;
            machine.log(format!("{} later {}", site.id, value.show()));
        }
        Stmt::Combine(id, combinator, branches) => {
            let mut promises = Vec::new();
            for branch in branches {
                promises.push(match branch {
                    Branch::Call(site) => made(machine, *site).await?,
                    Branch::Closure(body) => machine.run(program, body, Val::Undefined),
                });
                stopped(machine).await;
            }
            let value = machine.wait(machine.combine(*combinator, &promises)).await?;
            machine.log(format!("c{id} {}", value.show()));
        }
        Stmt::Map(id, combinator, many, body) => {
            let mut promises = Vec::new();
            for _ in 0..*many {
                promises.push(machine.run(program, body, Val::Undefined));
                stopped(machine).await;
            }
            let value = machine.wait(machine.combine(*combinator, &promises)).await?;
            machine.log(format!("m{id} {}", value.show()));
        }
        Stmt::Try { id, body, catch, finally } => {
            let mut done = inner(body).await;
            if let (Err(fault), Some(catch)) = (&done, catch) {
                machine.log(format!("t{id} {}", fault.tell()));
                done = inner(catch).await;
            }
            if let Some(finally) = finally {
                // What it returns or throws takes the place of what was before.
                if let flow @ Flow::Return(_) = inner(finally).await? {
                    return Ok(flow);
                }
            }
            return done;
        }
        Stmt::Loop(many, body) => {
            for _ in 0..*many {
                if let flow @ Flow::Return(_) = inner(body).await? {
                    return Ok(flow);
                }
            }
        }
        Stmt::Helper(index) => {
            let promise = machine.run(program, &program.helpers[*index], Val::Undefined);
            stopped(machine).await;
            let value = machine.wait(promise).await?;
            machine.log(format!("h{index} {}", value.show()));
        }
        Stmt::Sleep(id) => {
            machine.wait(machine.timer()).await?;
            machine.log(format!("woke {id}"));
        }
        Stmt::Tick => {
            let promise = machine.promise();
            machine.settle(promise, &Ok(Val::Undefined));
            machine.wait(promise).await?;
        }
        Stmt::Throw(id) => return Err(Fault::Own(*id)),
        Stmt::Return(id) => return Ok(Flow::Return(Val::Text(format!("r{id}")))),
        Stmt::Never => machine.wait(machine.promise()).await.map(|_| ())?,
    }
    Ok(Flow::Next)
}

/// A program that is stopped goes on nowhere, also not in the function that called the one that made one call too many.
async fn stopped(machine: &Machine) {
    if machine.is_stopped() {
        std::future::pending::<()>().await;
    }
}
