//! Single-head attention with rotary positions, one row (the query of a position) at a time.
//!
//! A row is a position t of a sentence whose tokens are c₀ … c_t: scores `⟨R_t·q_t, R_s·k_s⟩/√d`, shares p = softmax(scores),
//! output `x = Σ p_s·v_s`, where v are the normalised embeddings themselves (W_V = W_O = I).

use ndarray::{Array1, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2};

use crate::transformer::rotary::Rotary;

/// Queries, keys and values of the tokens of a batch, T×d each.
#[derive(Debug, Clone, Copy)]
pub struct Tokens<'a> {
    pub queries: ArrayView2<'a, f32>,
    pub keys: ArrayView2<'a, f32>,
    pub values: ArrayView2<'a, f32>,
}

/// Their gradients.
#[derive(Debug)]
pub struct TokensGradient<'a> {
    pub queries: ArrayViewMut2<'a, f32>,
    pub keys: ArrayViewMut2<'a, f32>,
    pub values: ArrayViewMut2<'a, f32>,
}

/// Attends from the last token of `context` to all of it; leaves the shares and the output.
pub fn attend(
    rotary: &Rotary,
    tokens: Tokens,
    context: &[usize],
    shares: &mut Vec<f32>,
    mut output: ArrayViewMut1<f32>,
) {
    let query = turned_query(rotary, tokens, context);
    shares.clear();
    shares.extend(context.iter().enumerate().map(|(position, token)| {
        let mut key = tokens.keys.row(*token).to_owned();
        rotary.turn(key.view_mut(), position);
        query.dot(&key)
    }));
    let top = shares.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    shares.iter_mut().for_each(|score| *score = (*score - top).exp());
    let total: f32 = shares.iter().sum();
    output.fill(0.0);
    for (share, token) in shares.iter_mut().zip(context) {
        *share /= total;
        output.scaled_add(*share, &tokens.values.row(*token));
    }
}

/// Adds the gradients of queries, keys and values, given that of the output of [`attend`].
pub fn attend_back(
    rotary: &Rotary,
    tokens: Tokens,
    context: &[usize],
    shares: &[f32],
    gradient: ArrayView1<f32>,
    sums: &mut TokensGradient,
) {
    let last = context.len() - 1;
    let query = turned_query(rotary, tokens, context);
    let of_shares: Vec<f32> = context.iter().map(|token| gradient.dot(&tokens.values.row(*token))).collect();
    let mean: f32 = of_shares.iter().zip(shares).map(|(g, share)| g * share).sum();
    let mut of_query = Array1::zeros(query.len());
    for (position, token) in context.iter().enumerate() {
        sums.values.row_mut(*token).scaled_add(shares[position], &gradient);
        let of_score = shares[position] * (of_shares[position] - mean);
        let mut key = tokens.keys.row(*token).to_owned();
        rotary.turn(key.view_mut(), position);
        of_query.scaled_add(of_score, &key);
        let mut back = query.clone();
        rotary.turn_back(back.view_mut(), position);
        sums.keys.row_mut(*token).scaled_add(of_score, &back);
    }
    rotary.turn_back(of_query.view_mut(), last);
    sums.queries.row_mut(context[last]).scaled_add(scale(query.len()), &of_query);
}

/// `R_t·q_t/√d`.
fn turned_query(rotary: &Rotary, tokens: Tokens, context: &[usize]) -> Array1<f32> {
    let last = context.len() - 1;
    let mut query = tokens.queries.row(context[last]).to_owned();
    rotary.turn(query.view_mut(), last);
    query *= scale(query.len());
    query
}

fn scale(dimension: usize) -> f32 {
    1.0 / (dimension as f32).sqrt()
}
