//! `factsmith man`

use clap::CommandFactory;
use clap_mangen::Man;

use super::{CommandLine, Context};
use crate::error::{Error, Result, unknown};

/// Print the manual page of the program or of a command
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith man > ~/.local/share/man/man1/factsmith.1
  factsmith man run | man -l -")]
pub struct Arguments {
    /// A command; the whole program when none is named
    command: Option<String>,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    context.refuse_json("manual pages")?;
    let mut program = CommandLine::command();
    program.build();
    let page = match &arguments.command {
        None => Man::new(program),
        Some(name) => {
            let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
            let command = program.find_subcommand(name).ok_or_else(|| unknown("command", name, names))?;
            Man::new(command.clone().display_name(format!("factsmith {name}"))).title(format!("factsmith-{name}"))
        }
    };
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| Error::failure(format!("cannot write the manual page: {error}")))?;
    context.print_bytes(&text)?;
    Ok(0)
}
