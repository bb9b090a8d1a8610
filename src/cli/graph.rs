//! `factsmith graph`

use serde_json::json;

use super::Context;
use crate::error::Result;
use crate::pipeline::graph::{Graph, Node};

/// Show which figures and notebooks are made from which stages
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith graph
  factsmith graph --format dot | dot -Tsvg > pipeline.svg
  factsmith graph --format mermaid --profile paper")]
pub struct Arguments {
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Only this stage and what reads it; may be given several times
    #[arg(long, value_name = "NAME")]
    stage: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For Graphviz
    Dot,
    /// For Markdown
    Mermaid,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let store = context.store()?;
    let plan = context.plan(&store, &arguments.stage)?;
    let manifest = context.manifest()?;
    let graph = Graph::new(&plan, &manifest.figures, &manifest.notebooks);
    if context.options.json {
        context.print_json(&as_json(&graph, plan.profile.name()))?;
    } else {
        context.print(&match arguments.format {
            Format::Text => graph.text(),
            Format::Dot => graph.dot(),
            Format::Mermaid => graph.mermaid(),
        })?;
    }
    Ok(0)
}

fn as_json(graph: &Graph, profile: &str) -> serde_json::Value {
    let node = |node: &Node| {
        let (cells, cached) = node.cells.unzip();
        json!({ "id": node.id(), "kind": node.kind, "name": node.name, "cells": cells, "cached": cached })
    };
    json!({
        "profile": profile,
        "nodes": graph.nodes().map(node).collect::<Vec<_>>(),
        "edges": graph.edges.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect::<Vec<_>>(),
    })
}
