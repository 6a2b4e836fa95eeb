#!/usr/bin/env python3
"""Each source's convention, checked against a second figure that the source prints: usage conventions.py ROOT MEASURED."""
import math
import os
import sys
import tempfile
import unittest

ROOT, MEASURED = sys.argv[1:3]
HELD_OUT = os.path.join(ROOT, "test/Accuracy/heldout")
sys.path.insert(0, os.path.join(ROOT, "tools/dev"))
from accuracy import aleph_alpha, bloom, bridge, fsdp, heldout, megatron, repeats, row, score, shapes, stacks, tables


def measured(name):
    return row.read_csv(os.path.join(MEASURED, name))


class Conventions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.shapes = shapes.ShapeTable(MEASURED, self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def near(self, value, expected, tolerance):
        self.assertLess(abs(value / expected - 1), tolerance, f"{value} against {expected}")

    def test_aleph_alpha_time_follows_from_mfu(self):
        parameters = {"65B": 66.857e9, "30B": 33.768e9}
        for name in ("main_llama_65B_2k_128gpu", "seqpara_llama_30B_2k_64gpu"):
            for cells in measured(f"aleph_alpha/{name}.csv"):
                if cells["status"] != "ok":
                    continue
                converted = aleph_alpha.convert_row(name, 0, cells, self.shapes)
                inputs = converted.inputs
                flops = shapes.palm_flops_per_token(parameters[cells["model"]], inputs["layers"], inputs["hidden"],
                                                    inputs["seq_len"])
                peak = float(cells["mfu_pct"]) / 100 * 312e12 * inputs["devices"]
                self.near(converted.step_time_s, flops * inputs["global_batch"] * inputs["seq_len"] / peak, 2e-3)
                self.assertEqual(inputs["dp"] * inputs["tp"] * inputs["pp"], inputs["devices"])

    def test_aleph_alpha_parameters_include_both_embeddings(self):
        self.near(shapes.parameters(self.shapes.llama("Aleph Alpha LLaMA 65B")), 66.857e9, 1e-3)

    def test_bloom_depth_follows_from_tflops(self):
        known = [cells for cells in measured("throughput/bloom_prequel_a100.csv") if cells["measured_step_time_s"]]
        for cells in known:
            layers = bloom.convert_row(0, cells, self.shapes).tags["layers"]
            hidden, tokens = int(cells["hidden"]), int(cells["global_batch"]) * 2048
            printed = float(cells["measured_tflops_per_gpu"]) * 1e12 * float(cells["measured_step_time_s"]) * int(
                cells["num_gpus"]) / tokens
            old = abs(printed / bloom.old_flops_per_token(layers, hidden) - 1)
            new = abs(printed / bloom.new_flops_per_token(layers, hidden) - 1)
            self.assertLess(min(old, new), 1.5e-3, cells["notes"])
        unknown = [cells for cells in known if not cells["layers"]]
        self.assertEqual([bloom.convert_row(0, cells, self.shapes).tags["layers"] for cells in unknown
                          if cells["params"] == "191B"], [77])

    def test_bloom_time_of_rows_that_print_tflops_only(self):
        cells = next(cells for cells in measured("throughput/bloom_prequel_a100.csv") if "L450;" in cells["notes"])
        self.near(bloom.convert_row(0, cells, self.shapes).step_time_s, 229.28, 1e-3)

    def test_bloom_memory_is_thousands_of_mebibytes(self):
        self.assertAlmostEqual(bloom.memory("peak mem (first/last node) 64GB."), 62.5)
        self.assertIsNone(bloom.memory("peak mem (first/last node) n/a."))

    def test_bloom_leaves_out_what_the_peak_forbids(self):
        tags = dict(layers=72, hidden=14336, era="fixed")

        def runs(*times):
            rows = [row.Row("bloom", f"r{index}", dict(devices=384, global_batch=batch), "ok", time, tags=tags)
                    for index, (batch, time) in enumerate(times)]
            bloom.exclude_impossible(rows)
            return [bool(entry.excluded) for entry in rows]

        # 480 sequences need 12 s at the peak; what one run says, two that agree refute.
        self.assertEqual(runs((1568, 113.0), (2048, 114.1), (2048, 114.0)), [True, False, False])
        self.assertEqual(runs((1568, 113.0), (2048, 114.1)), [False, False])
        self.assertEqual(runs((1568, 113.0), (2048, 114.1), (2048, 120.0)), [False, False, False])
        self.assertEqual(runs((1568, 100.0), (2048, 114.1), (2048, 114.0)), [False, False, False])

    def test_korthikanti_mfu(self):
        for index, cells in enumerate(measured("throughput/korthikanti_table5.csv")):
            if not cells["measured_mfu_pct"]:
                continue
            layers, hidden, seq_len, vocab = (int(cells[key]) for key in ("layers", "hidden", "seq_len", "vocab"))
            flops = 72 * layers * hidden**2 * (1 + seq_len / (6 * hidden) + vocab / (12 * hidden * layers))
            time = flops * int(cells["global_batch"]) * seq_len / (
                float(cells["measured_mfu_pct"]) / 100 * 312e12 * int(cells["num_gpus"]))
            self.near(megatron.convert_korthikanti(index, cells, self.shapes).step_time_s, time, 0.01)

    def test_zero_bubble_time_follows_from_samples(self):
        for index, cells in enumerate(measured("throughput/zero_bubble.csv")):
            samples = float(row.note(r"samples/GPU/s=([\d.]*\d)", cells["notes"]))
            converted = megatron.convert_zero_bubble(index, cells, self.shapes)
            self.near(converted.step_time_s, int(cells["global_batch"]) / (samples * int(cells["num_gpus"])), 1e-3)
            self.assertIn(converted.inputs["schedule"], ("1f1b", "interleaved", "zb1p", "zb2p"))
            # If every stage holds one layer per chunk, chunks are layers + 2.
            if converted.inputs["vp"] > 1:
                self.assertEqual(converted.inputs["vp"] * converted.inputs["pp"], int(cells["layers"]) + 2)

    def test_zero_bubble_memory_holds_no_more_than_is_in_flight(self):
        for index, cells in enumerate(measured("throughput/zero_bubble.csv")):
            converted = megatron.convert_zero_bubble(index, cells, self.shapes)
            schedule, pp = converted.inputs["schedule"], converted.inputs["pp"]
            if not converted.peak_memory_GiB or schedule not in ("1f1b", "zb2p"):
                continue
            layers, hidden, heads = ((int(cells["layers"]) + 2) / pp, int(cells["hidden"]), int(cells["heads"]))
            activations = layers * 1024 * int(cells["micro_batch"]) * hidden * (34 + 5 * heads * 1024 / hidden)
            states = 16 * layers * 12 * hidden**2
            in_flight = (converted.peak_memory_GiB * 2**30 - states) / activations
            self.assertLess(in_flight, 1.01 * (2 * pp if schedule == "zb2p" else pp), converted.id)

    def test_llm_foundry_mfu(self):
        for index, cells in enumerate(measured("throughput/mosaicml_llm_foundry_a100.csv")):
            converted = fsdp.convert_llm_foundry(index, cells, self.shapes)
            inputs = converted.inputs
            flops = shapes.palm_flops_per_token(float(cells["params"]), inputs["layers"], inputs["hidden"], inputs["seq_len"])
            time = flops * inputs["global_batch"] * inputs["seq_len"] / (
                float(cells["measured_mfu_pct"]) / 100 * 312e12 * inputs["devices"])
            self.near(converted.step_time_s, time, 5e-3)

    def test_megatron_flops_of_one_expert_are_those_of_a_dense_layer_with_half_the_attention(self):
        dense = self.shapes.llama("Llama 2 7B")
        sparse = dict(dense, experts=1, top_k=1, moe_ffn=dense["ffn"])
        # N without the input embedding, which is looked up.
        weights = shapes.parameters(dense) - dense["vocab"] * dense["hidden"]
        expected = shapes.palm_flops_per_token(weights, dense["layers"], dense["hidden"], 2048)
        self.near(bridge.megatron_flops_per_token(sparse, 4096), expected, 1e-9)

    def test_every_excluded_row_has_a_reason_and_every_other_one_a_figure(self):
        count = 0
        for entries in tables.read_tables(MEASURED, self.folder.name).values():
            for entry in entries:
                if entry.excluded:
                    continue
                count += 1
                self.assertIn(entry.status, ("ok", "oom"))
                self.assertEqual(entry.status == "ok", bool(entry.step_time_s), entry.id)
                self.assertTrue(entry.group and entry.inputs["cluster"] and entry.inputs["stack"], entry.id)
        self.assertGreater(count, 70)

    def test_ids_are_unique(self):
        for held_out in (None, HELD_OUT):
            ids = [entry.id for entries in tables.read_tables(MEASURED, self.folder.name, held_out).values() for entry in entries]
            self.assertEqual(len(ids), len(set(ids)))

    def test_rows_of_other_hardware_convert(self):
        cells = measured("throughput/mosaicml_llm_foundry_a100.csv")[0]
        converted = fsdp.convert_llm_foundry(0, dict(cells, gpu="H100", precision="amp_fp8"), self.shapes)
        self.assertEqual((converted.inputs["cluster"].split(":")[0], converted.inputs["precision"]), ("dgx-h100", "fp8"))
        self.assertEqual(bridge.stack_of("DeepSeekV3", "H100", "fp8", "25.09", 4, "dropless"),
                         "nemo-performance+te-loss+hybrid-ep+latent+overlap")
        self.assertEqual(bridge.stack_of("DeepSeekV3", "H100", "fp8", "25.09", 4, "token-drop"), "nemo-capacity+te-loss+latent")


class HeldOut(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.rows = tables.read_tables(MEASURED, self.folder.name, HELD_OUT)

    def tearDown(self):
        self.folder.cleanup()

    def test_layouts_use_the_devices_that_the_source_names(self):
        for entry in (entry for entries in self.rows.values() for entry in entries if not entry.excluded):
            inputs = entry.inputs
            product = inputs["dp"] * inputs["tp"] * inputs["pp"] * inputs.get("cp", 1)
            self.assertEqual(product, inputs["devices"], entry.id)
            self.assertEqual(inputs["global_batch"] % (inputs["dp"] * inputs["micro_batch"]), 0, entry.id)

    def test_no_table_repeats_one_that_constants_were_set_with(self):
        self.assertFalse(set(self.rows) & set(tables.TABLES))

    def test_megatron_parameters(self):
        """The paper's parameter counts of its Table 1, in billions."""
        for cells in row.read_csv(os.path.join(HELD_OUT, "megatron_a100.csv")):
            if cells["source"] == "SC21":
                layers, hidden, vocab, seq_len = (int(cells[name]) for name in ("layers", "hidden", "vocab", "seq_len"))
                count = 12 * layers * hidden**2 * (1 + 13 / (12 * hidden) + (vocab + seq_len) / (12 * layers * hidden))
                self.assertLess(abs(count / 1e9 / float(cells["model"].rstrip("B")) - 1), 0.03, cells["model"])  # printed with one digit

    def test_torchtitan_time_is_of_whole_steps(self):
        cells = row.read_csv(os.path.join(HELD_OUT, "torchtitan.csv"))[0]
        converted = heldout.convert_torchtitan(0, cells, shapes.ShapeTable(MEASURED, self.folder.name))
        self.assertAlmostEqual(converted.step_time_s, 16 * 8192 / (5762 * 8), 6)


class Stacks(unittest.TestCase):
    def test_variant_replaces_switches(self):
        text = stacks.variant_text("zero-bubble", "# a comment\nname: megatron-2021\nblocking_sends: true # why\nfused_loss: false\n")
        self.assertIn("name: zero-bubble\n", text)
        self.assertIn("blocking_sends: false\n", text)
        self.assertIn("fused_loss: false\n", text)
        self.assertEqual(text.count("blocking_sends"), 1)


class Score(unittest.TestCase):
    def row(self, name, time, status="ok", **inputs):
        return row.Row("bloom", name, dict(inputs), status, time, group="g")

    def test_ranks_share_ties(self):
        self.assertEqual(score.ranks([3.0, 1.0, 3.0, 2.0]), [3.5, 1, 3.5, 2])

    def test_spearman(self):
        self.assertAlmostEqual(score.spearman([1, 2, 3, 4], [10, 20, 30, 40]), 1)
        self.assertAlmostEqual(score.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        self.assertAlmostEqual(score.spearman([1, 2, 3, 4], [1, 2, 4, 3]), 0.8)
        self.assertIsNone(score.spearman([1, 1], [1, 2]))

    def test_quantile(self):
        self.assertEqual(score.quantile([5, 1, 4, 2, 3], 0.5), 3)
        self.assertEqual(score.quantile(list(range(1, 11)), 0.9), 9)

    def test_regret_is_of_the_first_choice(self):
        rows = [self.row("a", 10.0, tp=1), self.row("b", 12.0, tp=2), self.row("c", None, "oom", tp=4)]
        predictions = {"a": score.Prediction(2.0, True), "b": score.Prediction(1.0, True), "c": score.Prediction(0.5, True)}
        result = score.score("bloom", rows, predictions)
        self.assertAlmostEqual(result.choices[0].regret, 0.2)
        self.assertTrue(result.choices[0].out_of_memory)
        self.assertEqual((result.fit_right, len(result.fit_wrong)), (2, 1))
        self.assertAlmostEqual(result.bias(), ((2 / 10 - 1) + (1 / 12 - 1)) / 2)

    def test_repeated_runs_are_one_layout(self):
        rows = [self.row("a", 10.0, tp=1), self.row("a2", 14.0, tp=1), self.row("b", 11.0, tp=2)]
        predictions = {name: score.Prediction(time, True) for name, time in (("a", 1.0), ("a2", 1.0), ("b", 2.0))}
        choice = score.score("bloom", rows, predictions).choices[0]
        self.assertEqual(choice.rows, 2)
        self.assertAlmostEqual(choice.regret, 12 / 11 - 1)

    def test_runs_that_agree_leave_a_perfect_model_perfect(self):
        choice = score.Choice("g", 12, 0, "", "", 1.0, times=[float(time) for time in range(10, 22)], runs=[1] * 12)
        exact = repeats.reachable([choice], [[3.0, 3.0], [5.0, 5.0, 5.0]])
        self.assertEqual((set(exact.spearman), set(exact.regret)), ({1.0}, {0.0}))
        # Runs that differ by far more than the layouts leave no order, and averages of many runs more of it than one.
        wild = [[1.0, 3.0], [2.0, 0.5, 1.0]]
        once = repeats.reachable([choice], wild).spearman
        choice.runs = [400] * 12
        often = repeats.reachable([choice], wild).spearman
        self.assertLess(score.mean(once), 0.6)
        self.assertGreater(score.mean(often), 0.9)

    def test_residuals_have_the_variance_of_single_runs(self):
        (pool,) = repeats.residuals([[math.exp(1.0), math.exp(3.0)]])
        self.assertAlmostEqual(sum(value * value for value in pool) / 2, 2.0)  # the unbiased estimate of two values 2 apart
        self.assertEqual(repeats.perfect_memory([[10.0, 10.0]], 0.02), (0, 0))

    def test_memory_of_what_is_printed_rounded(self):
        entry = self.row("a", 10.0)
        entry.peak_memory_GiB, entry.memory_rounding_GiB = 12.0, 0.5
        result = score.score("bloom", [entry], {"a": score.Prediction(10.0, True, 11.4)})
        self.assertEqual((result.memory_underpredicted(0.02), result.memory_surely_underpredicted(0.02)), (1, 0))

    def test_memory(self):
        entry = self.row("a", 10.0)
        entry.peak_memory_GiB = 50.0
        result = score.score("bloom", [entry], {"a": score.Prediction(10.0, True, 48.0)})
        self.assertAlmostEqual(result.memory_mean_error(), 0.04)
        self.assertEqual(result.memory_underpredicted(0.02), 1)

    def test_refused_rows_are_not_scored(self):
        result = score.score("bloom", [self.row("a", 10.0)], {"a": score.Prediction(error="tp does not divide heads")})
        self.assertEqual((len(result.failed), result.mean_error()), (1, None))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
