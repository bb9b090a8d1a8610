//! The loader of docs/pytorch.md, and what runs it on numpy where there is no PyTorch.

use std::path::Path;

/// What the loader needs of PyTorch, on numpy arrays.
pub const ON_NUMPY: &str = r#"
import types, sys, numpy as np, safetensors
class Module:
    def __init__(self): self._buffers = {}
    def register_buffer(self, name, value): self._buffers[name] = value
    def named_buffers(self): return self._buffers.items()
    def __call__(self, x): return self.forward(x)
torch = types.SimpleNamespace(nn=types.SimpleNamespace(Module=Module), relu=lambda z: np.maximum(z, 0), sigmoid=lambda z: 1 / (1 + np.exp(-z)))
sys.modules["torch"] = torch
opened = safetensors.safe_open
safetensors.safe_open = lambda path, framework: opened(path, "np")
"#;

/// The Python that tests use.
pub fn python() -> String {
    std::env::var("FACTSMITH_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// The code of the document.
pub fn loader() -> String {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pytorch.md")).unwrap();
    let code = text.split("```python\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    assert!(code.lines().filter(|line| !line.is_empty()).count() < 20, "the loader is promised to be short");
    code
}
