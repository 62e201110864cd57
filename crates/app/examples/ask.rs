//! One question to an assistant, answered from documents in one call:
//!
//! cargo run -p ibid-app --example ask -- "How long do import records have to be kept?"

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use ibid_app::{App, Settings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(read) = ibid_app::read_document_if_asked() {
        std::process::exit(i32::from(!read));
    }
    let question = std::env::args().nth(1).ok_or("say what to ask")?;
    let app = App::builder(Settings::default()).open().await?;
    let reply = app.ask(app.local_scope(), "default", &question).await?;
    println!("{}", reply.text);
    for citation in reply.citations() {
        println!("[{}] {}, page {:?}: {}", citation.source, citation.title, citation.page, citation.snippet);
    }
    for warning in reply.warnings() {
        println!("! {}", warning.text);
    }
    app.close().await;
    Ok(())
}
