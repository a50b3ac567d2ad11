//! A process that has confined itself, tried from inside (E-4): `cargo test --test confined`.
//!
//! Owns the two parts of this program: without `--try` it is the host, which starts itself twice for each probe, once
//! confined and once free, and judges what became of it; with `--try` it is such a process. It has no harness of the
//! standard library, since a process confines itself once and for all, and it understands enough of that one's
//! arguments to be filtered and listed. What is tried is in `probes`.
#![expect(clippy::print_stdout, reason = "a program that tells")]
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::exit, reason = "the exit code is the verdict")]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod arguments;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod host;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod probes;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--try", name, kind, inherited, host, secret] => {
            try_out(name, *kind == "confined", inherited, host, secret.as_ref());
        }
        ["--start", rest @ ..] => host::start_and_leave(rest),
        others => std::process::exit(host::main(&arguments::Arguments::read(others))),
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn try_out(name: &str, confined: bool, inherited: &str, host: &str, secret: &std::path::Path) {
    let probe = probes::PROBES.iter().find(|probe| probe.name == name).unwrap();
    let mut setup = probes::Setup::new(confined, secret, inherited.parse().unwrap(), host.parse().unwrap());
    match probe.expected {
        probes::Expected::WorksOnce => {}
        probes::Expected::RefusedWithoutCompiler => setup.confine_without_compiler(),
        _ => setup.confine(),
    }
    match (probe.run)(&mut setup) {
        Ok(()) => println!("done"),
        Err(error) => println!("refused {error}"),
    }
    // Not by way of what V8 and tokio would do at the end of `main`: that is not what is tried.
    std::process::exit(0);
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("the sandbox is built for Linux on x86_64; there is nothing to try here");
}
