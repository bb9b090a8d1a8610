//! What is made from what: stages with the figures and notebooks that read them, cells collapsed into counts.

use std::fmt::Write;

use super::manifest::Reader;
use super::plan::{Plan, PlannedStage};
use super::progress::count;

/// The graph of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    pub stages: Vec<Node>,
    pub readers: Vec<Node>,
    /// Names of stage and reader.
    pub edges: Vec<(String, String)>,
}

/// A stage, a figure or a notebook.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub kind: &'static str,
    pub name: String,
    /// How many cells there are and how many of them are in the store; for stages only.
    pub cells: Option<(usize, usize)>,
}

impl Graph {
    /// Of the stages of `plan`, and what reads one of them.
    pub fn new(plan: &Plan, figures: &[Reader], notebooks: &[Reader]) -> Self {
        let mut graph =
            Self { stages: plan.stages.iter().map(stage).collect(), readers: Vec::new(), edges: Vec::new() };
        for (kind, readers) in [("figure", figures), ("notebook", notebooks)] {
            readers.iter().for_each(|reader| graph.add(kind, reader));
        }
        graph
    }

    fn add(&mut self, kind: &'static str, reader: &Reader) {
        let node = Node { kind, name: reader.name.clone(), cells: None };
        let read: Vec<&Node> = self.stages.iter().filter(|stage| reader.stages.contains(&stage.name)).collect();
        if !read.is_empty() {
            self.edges.extend(read.into_iter().map(|stage| (stage.id(), node.id())));
            self.readers.push(node);
        }
    }

    /// A stage per paragraph, with its readers.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for stage in &self.stages {
            line(&mut text, &stage.label(" "));
            let own = self.edges.iter().filter(|(from, _)| *from == stage.id());
            for reader in own.filter_map(|(_, to)| self.readers.iter().find(|reader| reader.id() == *to)) {
                line(&mut text, &format!("  → {}", reader.label(" ")));
            }
        }
        text
    }

    /// For Graphviz: `factsmith graph --format dot | dot -Tsvg`.
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph pipeline {\n  rankdir = LR\n");
        for node in self.nodes() {
            let shape = if node.kind == "stage" { "box" } else { "ellipse" };
            line(&mut text, &format!("  \"{}\" [shape = {shape}, label = \"{}\"]", node.id(), node.label("\\n")));
        }
        for (from, to) in &self.edges {
            line(&mut text, &format!("  \"{from}\" -> \"{to}\""));
        }
        text + "}\n"
    }

    /// For Mermaid, which GitHub draws in Markdown.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("flowchart LR\n");
        let numbers: Vec<String> = self.nodes().map(Node::id).collect();
        for (number, node) in self.nodes().enumerate() {
            let (open, close) = if node.kind == "stage" { ("[", "]") } else { ("([", "])") };
            line(&mut text, &format!("  n{number}{open}\"{}\"{close}", node.label("<br>")));
        }
        let number = |id: &String| numbers.iter().position(|other| other == id).unwrap_or_default();
        for (from, to) in &self.edges {
            line(&mut text, &format!("  n{} --> n{}", number(from), number(to)));
        }
        text
    }

    /// All nodes, stages first.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.stages.iter().chain(&self.readers)
    }
}

impl Node {
    /// A name that no other node has: a figure may be called like a stage.
    pub fn id(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    fn label(&self, between: &str) -> String {
        match self.cells {
            Some((cells, cached)) => format!("{}:{between}{}, {cached} cached", self.id(), count(cells, "cell")),
            None => self.id(),
        }
    }
}

fn stage(stage: &PlannedStage) -> Node {
    Node { kind: "stage", name: stage.name.clone(), cells: Some((stage.cells.len(), stage.cached())) }
}

fn line(text: &mut String, line: &str) {
    // Writing to a String never fails.
    let _ = writeln!(text, "{line}");
}
