"""Executes a notebook: notebook.py NOTEBOOK OUTPUT SECONDS_PER_CELL

The Rust kernel sends what a cell wrote by another way than the end of the cell, so that output can arrive after it.
nbconvert drops such output, and with it, on a busy machine, the only sign that a cell failed. Here it goes to the cell
that wrote it, and the run ends only when a mark written to stderr last has come through.

When the kernel dies, does not start, or takes too long, the last line of stderr is a JSON object that says so.
"""

import asyncio
import json
import os
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbclient.util import ensure_async

END = "factsmith: end of stderr"


class Client(NotebookClient):
    def __init__(self, notebook, **options):
        super().__init__(notebook, **options)
        self.owners = {}
        self.current = None

    async def _async_poll_output_msg(self, parent_msg_id, cell, cell_index):
        self.current = cell_index
        self.owners[parent_msg_id] = (cell, cell_index)
        complete = False
        ended = END not in cell.source
        while not (complete and ended):
            message = await ensure_async(self.kc.iopub_channel.get_msg(timeout=None))
            owner = self.owners.get(message["parent_header"].get("msg_id"))
            is_stream = message["msg_type"] == "stream"
            ended = ended or (is_stream and END in message["content"]["text"])
            if owner and (is_stream or owner[0] is cell):
                try:
                    self.process_message(message, *owner)
                except CellExecutionComplete:
                    complete = True
        # What is still under way has this cell as its owner only until the next cell starts.
        await asyncio.sleep(0.05)


def main(source, target, seconds):
    notebook = nbformat.read(source, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(f'eprintln!("{END}");'))
    client = Client(
        notebook,
        kernel_name="rust",
        timeout=int(seconds),
        startup_timeout=600,
        iopub_timeout=60,
        raise_on_iopub_timeout=True,
        allow_errors=True,
        record_timing=False,
        resources={"metadata": {"path": os.path.dirname(os.path.abspath(source))}},
    )
    try:
        client.execute()
    except Exception as error:
        print(json.dumps({"kind": type(error).__name__, "said": str(error), "cell": client.current}), file=sys.stderr)
        sys.exit(1)
    notebook.cells.pop()
    nbformat.write(notebook, target)


main(*sys.argv[1:])
