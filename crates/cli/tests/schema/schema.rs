// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares JSON with its schema in `docs/reference/schemas`.
//!
//! This knows the keywords of JSON Schema that these schemas use, and refuses others, so that none is overlooked. (The crates that know all
//! of them, `jsonschema` and `boon`, come with eighty more, half of which are about languages and host names.) It is stricter than
//! a schema says in one point: a key that the schema does not name is a fault, so that no key is printed that is not described.

use std::path::Path;

use serde_json::{Map, Value};

/// What a schema may say beside what is compared.
const REMARKS: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// Panics, with every place, if `printed` is not as `docs/reference/schemas/NAME.json` says.
#[track_caller]
pub fn assert_conforms(name: &str, printed: &Value) {
    let faults = faults(name, printed);
    assert!(faults.is_empty(), "{name}: {faults:#?}\nin {printed:#}");
}

/// Where a document is not as its schema says, and how.
pub fn faults(name: &str, printed: &Value) -> Vec<String> {
    let root = schema(name);
    let mut comparison = Comparison { root: &root, faults: Vec::new() };
    comparison.compare(&root, printed, "");
    comparison.faults
}

/// The schema of this name.
pub fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schemas").join(name);
    let text = std::fs::read_to_string(path.with_extension("json")).expect("a schema");
    serde_json::from_str(&text).expect("a schema is JSON")
}

struct Comparison<'a> {
    root: &'a Value,
    faults: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn compare(&mut self, schema: &'a Value, value: &Value, place: &str) {
        if let Value::Object(members) = value {
            let known = self.known(schema);
            for name in
                members.keys().filter(|name| known.as_ref().is_some_and(|known| !known.contains(&name.as_str())))
            {
                self.fault(place, format!("'{name}' is not described"));
            }
        }
        self.obey(schema, value, place);
    }

    /// What a schema demands, apart from the names of keys.
    fn obey(&mut self, schema: &'a Value, value: &Value, place: &str) {
        for (keyword, rule) in keywords(schema) {
            let is_kept = match keyword.as_str() {
                "$ref" => {
                    self.obey(self.definition(rule), value, place);
                    true
                }
                "type" => listed(rule).any(|name| is_of(name, value)),
                "const" => value == rule,
                "enum" => listed(rule).any(|one| one == value),
                "minimum" => value.as_f64().is_none_or(|value| value >= rule.as_f64().expect("a number")),
                "required" => {
                    let lacks = listed(rule).filter_map(Value::as_str).filter(|&key| lacks(value, key));
                    lacks.for_each(|key| self.fault(place, format!("'{key}' is missing")));
                    true
                }
                "properties" => {
                    for (name, rule) in keywords(rule) {
                        if let Some(value) = value.get(name) {
                            self.compare(rule, value, &format!("{place}/{name}"));
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    for (name, value) in value.as_object().into_iter().flatten() {
                        self.compare(rule, value, &format!("{place}/{name}"));
                    }
                    true
                }
                "items" => {
                    for (number, value) in value.as_array().into_iter().flatten().enumerate() {
                        self.compare(rule, value, &format!("{place}/{number}"));
                    }
                    true
                }
                "oneOf" => listed(rule).filter(|one| self.is_kept(one, value)).count() == 1,
                remark if REMARKS.contains(&remark) => true,
                unknown => panic!("the keyword {unknown} is not compared: teach it to tests/schema/schema.rs"),
            };
            if !is_kept {
                self.fault(place, format!("{keyword}: {rule} is not kept by {value}"));
            }
        }
    }

    fn is_kept(&self, schema: &'a Value, value: &Value) -> bool {
        let mut comparison = Comparison { root: self.root, faults: Vec::new() };
        comparison.obey(schema, value, "");
        comparison.faults.is_empty()
    }

    /// The keys that a schema names, in itself and in those of which one is to be kept. None: any.
    fn known(&self, schema: &'a Value) -> Option<Vec<&'a str>> {
        if schema.get("additionalProperties").is_some() {
            return None;
        }
        if let Some(name) = schema.get("$ref") {
            return self.known(self.definition(name));
        }
        let mut known: Vec<&str> =
            schema.get("properties").into_iter().flat_map(keywords).map(|(name, _)| &**name).collect();
        for one in schema.get("oneOf").into_iter().flat_map(listed) {
            known.extend(self.known(one).into_iter().flatten());
        }
        Some(known)
    }

    fn definition(&self, name: &Value) -> &'a Value {
        let pointer = name.as_str().and_then(|name| name.strip_prefix('#')).expect("a reference within the schema");
        self.root.pointer(pointer).unwrap_or_else(|| panic!("{name} is not there"))
    }

    fn fault(&mut self, place: &str, what: String) {
        self.faults.push(format!("{place}: {what}"));
    }
}

fn keywords(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.as_object().into_iter().flat_map(Map::iter)
}

/// The elements of a list, or what stands alone.
fn listed(rule: &Value) -> impl Iterator<Item = &Value> {
    rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice).iter()
}

fn lacks(value: &Value, key: &str) -> bool {
    value.as_object().is_some_and(|members| !members.contains_key(key))
}

fn is_of(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("a name of a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        unknown => panic!("there is no type {unknown}"),
    }
}
