//! The experiments of the papers, one file per section: parameters, cell function, predicted cost.

use crate::pipeline::experiment::Experiment;

pub mod construction_cost;
pub mod construction_rows;
pub mod costs;
pub mod decodability;
pub mod encoders;
pub mod fact_editing;
pub mod fact_sets;
pub mod insertion;
pub mod insertion_rows;
pub mod language;
pub mod language_base;
pub mod language_rows;
pub mod measures;
pub mod noise_floor;
pub mod noise_rows;
pub mod random_decoders;
pub mod ssfr;
pub mod ssfr_rows;
pub mod ssfr_setting;
pub mod storage_cost;
pub mod successor_setting;
pub mod usable_sizes;

/// Every experiment that `pipeline.toml` can name.
pub fn experiments() -> Vec<&'static dyn Experiment> {
    vec![
        &decodability::DecodabilityOfTables,
        &storage_cost::StorageCost,
        &construction_cost::ConstructionCost,
        &encoders::Encoders,
        &random_decoders::RandomDecoders,
        &ssfr::Ssfr,
        &language::Language,
        &fact_editing::FactEditing,
        &noise_floor::NoiseFloor,
        &insertion::Insertion,
    ]
}
