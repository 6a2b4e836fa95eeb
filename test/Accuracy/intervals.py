"""The intervals that ppc-plan gives against the same formula in Python, and what they say far from everything measured."""
import math
import os
import subprocess
import sys
import tempfile

source, tool = sys.argv[1:3]
sys.path.insert(0, source + "/tools/dev")
from accuracy import intervals
from accuracy.row import read_csv

ROWS = """id,layers,hidden,heads,ffn,gated,vocab,experts,top_k,moe_ffn,seq_len,global_batch,micro_batch,cluster,devices,tp,pp,zero,precision,stack
dense,80,8192,64,28672,1,128256,,,,8192,128,1,dgx-h100:8,64,4,4,1,bf16,megatron-core
sharded,32,4096,32,14336,1,128256,,,,8192,128,1,dgx-h100:8,64,1,1,3,bf16,fsdp
experts,32,4096,32,14336,1,32000,8,2,14336,4096,256,1,dgx-b200:8,64,1,1,1,fp8,megatron-core
plain,24,2048,16,8192,0,51200,,,,1024,64,4,dgx-a100:1,8,2,1,0,fp16,megatron-2021
ours,32,4096,32,14336,1,128256,,,,8192,128,1,dgx-h100:8,64,4,2,1,bf16,ppc
elsewhere,32,4096,32,14336,1,128256,,,,8192,128,1,mi300x:8,64,4,2,1,bf16,megatron-core
"""
with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/rows.csv", "w", encoding="utf-8") as file:
        file.write(ROWS)
    subprocess.run([tool, "--evaluate", folder + "/rows.csv", "-o", folder + "/out.csv"], check=True)
    predictions = read_csv(folder + "/out.csv")
parameters = intervals.read_parameters(intervals.errors_file())
# One figure, where it is printed and where it is written about.
covered = f"{100 * parameters['covered']:.1f} %"
for page in ("README.md", "docs/guide/Plan.md", "docs/performance/accuracy.md"):
    with open(os.path.join(source, page), encoding="utf-8") as file:
        assert covered in file.read(), f"{page} does not say {covered}"
cells = {name: [(intervals.parse(features), values) for features, values in found.items()]
         for name, found in intervals.read_cells(intervals.errors_file()).items()}
wrong = 0
for cells_of_row in predictions:
    assert not cells_of_row["error"], cells_of_row
    step, low, high = (float(cells_of_row[name]) for name in ("step_time_s", "step_time_low_s", "step_time_high_s"))
    middle, half, distance = intervals.interval(intervals.parse(cells_of_row["features"]), cells, parameters)
    # The tool measures distances from the row itself, this from its rounded features.
    error = max(abs(math.log(low / step) - (middle - half)), abs(math.log(high / step) - (middle + half)))
    near = cells_of_row["nearest"] != "nothing near"
    print(f"{cells_of_row['id']}: {cells_of_row['features']}: {100 * (low / step - 1):+.0f}% to {100 * (high / step - 1):+.0f}%, "
          f"{'near' if near else 'nothing near'}, apart {error:.3f}")
    wrong += error > 0.03 or near != (cells_of_row["id"] not in ("ours", "elsewhere")) or not low < high
sys.exit(wrong)
