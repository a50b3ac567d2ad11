//! The text of a generated program, as a model would write it.
//!
//! Owns nothing but words. What they do is said once more by `machine`, which must agree. It calls nobody.

use std::fmt::Write as _;

use super::program::{Branch, Combinator, Given, Program, Site, Stmt, ToolKind};

/// What every program begins with: how it prints, and how it counts the calls that it wants to make.
const HEAD: &str = r#"let made = 0;
const tell = (error: any): string => error instanceof ToolCallError ? `${error.toolName}:${error.code}`
  : error instanceof AggregateError ? `all(${error.errors.map(tell).join(" ")})`
  : error instanceof TypeError ? "TypeError" : error.message;
const show = (value: any): string => Array.isArray(value) ? `[${value.map(show).join(" ")}]`
  : typeof value !== "object" ? String(value)
  : value.status === "fulfilled" ? `+${show(value.value)}` : `-${tell(value.reason)}`;
const log = (line: string): void => console.log(line);
"#;

impl Program {
    /// The program as TypeScript.
    pub(crate) fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (index, helper) in self.helpers.iter().enumerate() {
            let _ = writeln!(text, "async function helper{index}(): Promise<any> {{");
            block(&mut text, helper, 1);
            text.push_str("}\n");
        }
        block(&mut text, &self.main, 0);
        text.push_str("return \"end\";\n");
        text
    }
}

fn name(combinator: Combinator) -> &'static str {
    match combinator {
        Combinator::All => "all",
        Combinator::AllSettled => "allSettled",
        Combinator::Race => "race",
        Combinator::Any => "any",
    }
}

fn call(Site { id, tool, given }: Site) -> String {
    let given = match given {
        Given::Right => format!("id: {id}"),
        Given::Invalid => format!("id: \"{id}\""),
        Given::NoJson => format!("id: {id}, bad: [NaN]"),
    };
    let tools = if tool == ToolKind::Unknown { "(tools as any)" } else { "tools" };
    format!("{tools}.{}({{ {given}, made: ++made }})", tool.name())
}

fn block(text: &mut String, statements: &[Stmt], depth: usize) {
    for statement in statements {
        stmt(text, statement, depth);
    }
}

fn braced(text: &mut String, statements: &[Stmt], depth: usize) {
    text.push_str("{\n");
    block(text, statements, depth + 1);
    text.push_str(&"  ".repeat(depth));
    text.push('}');
}

fn stmt(text: &mut String, statement: &Stmt, depth: usize) {
    text.push_str(&"  ".repeat(depth));
    let _ = match statement {
        Stmt::Await(site) => write!(text, "log(`{} ${{await {}}}`);", site.id, call(*site)),
        Stmt::Loose(site) => write!(text, "{};", call(*site)),
        Stmt::Caught(site) => {
            write!(text, "{}.catch((error) => log(`{} caught ${{tell(error)}}`));", call(*site), site.id)
        }
        Stmt::Later(site, between) => {
            let _ = writeln!(text, "const p{} = {};", site.id, call(*site));
            text.push_str(&"  ".repeat(depth));
            braced(text, between, depth);
            write!(text, "\n{}log(`{} later ${{await p{}}}`);", "  ".repeat(depth), site.id, site.id)
        }
        Stmt::Combine(id, combinator, branches) => {
            let _ = writeln!(text, "log(`c{id} ${{show(await Promise.{}([", name(*combinator));
            for branch in branches {
                text.push_str(&"  ".repeat(depth + 1));
                match branch {
                    Branch::Call(site) => text.push_str(&call(*site)),
                    Branch::Closure(body) => {
                        text.push_str("(async () => ");
                        braced(text, body, depth + 1);
                        text.push_str(")()");
                    }
                }
                text.push_str(",\n");
            }
            write!(text, "{}]))}}`);", "  ".repeat(depth))
        }
        Stmt::Map(id, combinator, many, body) => {
            let list: Vec<_> = (0..*many).map(|n| n.to_string()).collect();
            let list = list.join(", ");
            let _ = write!(
                text,
                "log(`m{id} ${{show(await Promise.{}([{list}].map(async () => ",
                name(*combinator)
            );
            braced(text, body, depth);
            write!(text, ")))}}`);")
        }
        Stmt::Try { id, body, catch, finally } => {
            text.push_str("try ");
            braced(text, body, depth);
            if let Some(catch) = catch {
                let _ = writeln!(text, " catch (error) {{");
                let _ = writeln!(text, "{}log(`t{id} ${{tell(error)}}`);", "  ".repeat(depth + 1));
                block(text, catch, depth + 1);
                let _ = write!(text, "{}}}", "  ".repeat(depth));
            }
            if let Some(finally) = finally {
                text.push_str(" finally ");
                braced(text, finally, depth);
            }
            Ok(())
        }
        Stmt::Loop(many, body) => {
            let _ = write!(text, "for (let i = 0; i < {many}; i++) ");
            braced(text, body, depth);
            Ok(())
        }
        Stmt::Helper(index) => write!(text, "log(`h{index} ${{await helper{index}()}}`);"),
        Stmt::Sleep(id) => {
            write!(
                text,
                "await new Promise<void>((done) => setTimeout(done, 1));\n{}log(\"woke {id}\");",
                "  ".repeat(depth)
            )
        }
        Stmt::Tick => write!(text, "await null;"),
        Stmt::Throw(id) => write!(text, "throw new Error(\"own {id}\");"),
        Stmt::Return(id) => write!(text, "return \"r{id}\";"),
        Stmt::Never => write!(text, "await new Promise(() => {{}});"),
    };
    text.push('\n');
}
