//! The cycle in a wait-for graph.

use crate::trace::Waiter;
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use std::collections::BTreeMap;

/// Of the edges "waits for", one cycle, in order: each waits for the next, the last for the first. Empty without a cycle.
pub fn cycle(edges: &[(Waiter, Waiter)]) -> Vec<Waiter> {
    let mut graph = DiGraph::<Waiter, ()>::new();
    let mut nodes = BTreeMap::new();
    for (from, to) in edges {
        let [from, to] = [from, to].map(|w| *nodes.entry(*w).or_insert_with(|| graph.add_node(*w)));
        graph.update_edge(from, to, ());
    }
    let components = tarjan_scc(&graph);
    let is_cyclic =
        |component: &&Vec<_>| component.len() > 1 || graph.contains_edge(component[0], component[0]);
    let Some(component) = components.iter().find(is_cyclic) else { return Vec::new() };
    // Inside a strongly connected component every walk that stays inside comes round.
    let mut path = vec![*component.iter().min_by_key(|node| graph[**node]).expect("not empty")];
    loop {
        let last = *path.last().expect("not empty");
        let next =
            graph.neighbors(last).filter(|node| component.contains(node)).min_by_key(|node| graph[*node]);
        let next = next.expect("a successor inside the component");
        if let Some(start) = path.iter().position(|node| *node == next) {
            return path[start..].iter().map(|node| graph[*node]).collect();
        }
        path.push(next);
    }
}
