//! `factsmith completions`

use clap::CommandFactory;
use clap_complete::Shell;

use super::{CommandLine, Context};
use crate::error::Result;

/// Print the completions of a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith completions bash > ~/.local/share/bash-completion/completions/factsmith
  factsmith completions fish > ~/.config/fish/completions/factsmith.fish")]
pub struct Arguments {
    shell: Shell,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    context.refuse_json("completions")?;
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), "factsmith", &mut text);
    context.print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
