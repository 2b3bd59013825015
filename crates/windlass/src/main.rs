//! The program `windlass`.
fn main() -> std::process::ExitCode {
    windlass::main()
}
