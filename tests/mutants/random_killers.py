"""The commands that must kill a random mutant, the quickest first: those of its file, else those of its directory.

A `*` stands for all test programs whose name matches."""
from fnmatch import fnmatchcase
from pathlib import Path

PLAYED = ["sim/play/test_runtime", "sim/policy/test_properties_trace", "sim/policy/test_properties_wakers",
          "sim/policy/test_properties_sampling", "sim/policy/test_policy_strobe"]
TIMELINE = ["unit/trace/test_timeline", "unit/trace/test_timeline_costs", "suite golden",
            "unit/trace/test_timeline_oracle", "unit/trace/test_sinks", "unit/trace/test_report",
            "sim/policy/test_properties_trace"]
SINKS = ["unit/trace/test_sinks", "unit/trace/test_sinks_back", "suite golden", "unit/base/test_texts",
         "unit/import/test_import", "unit/trace/test_timeline", "unit/trace/test_report"]
SAMPLER = ["unit/capture/test_sampler", "unit/capture/test_waiting", "explore sampler", *PLAYED, "sim/play/test_fault"]
FILES = {
    "engine/base/mix.h": ["unit/base/test_base", "unit/store/test_ring", "unit/store/test_stack_table"],
    "engine/base/varint.h": ["unit/base/test_base", "unit/import/test_import"],
    "engine/method/netease/netease_ring.c": ["unit/method/test_netease_ring", "explore netease"],
    "engine/store/ring.c": ["unit/store/test_ring", "unit/store/test_ring_threads", "explore ring",
                            "unit/store/test_reader", "unit/store/test_session_faults"],
    "engine/store/stack_table.c": ["unit/store/test_stack_table", "explore table", "unit/store/test_session"],
    "engine/store/session.c": ["unit/store/test_session", "unit/store/test_session_faults", "unit/store/test_reader",
                               "explore session"],
    "engine/store/reserve.c": ["unit/store/test_session_faults", "unit/store/test_session"],
    "engine/store/stops.c": ["unit/store/test_stops", "unit/trace/test_report"],
    "engine/store/session_trim.c": ["unit/store/test_session", "unit/store/test_session_faults"],
    "engine/capture/blocking.c": ["unit/capture/test_blocking", "unit/capture/test_blocking_crowded",
                                  "unit/capture/test_waiting", "explore blocking", *PLAYED],
    "engine/capture/engine.c": ["unit/capture/test_sample", "unit/store/test_session", "unit/capture/test_sampler",
                                *PLAYED],
    "engine/capture/gate.h": ["unit/capture/test_gate", "unit/capture/test_sample", "explore gate", *PLAYED],
    "engine/capture/leaf.c": ["unit/capture/test_leaf", "unit/capture/test_sampler"],
    "engine/capture/sample.c": ["unit/capture/test_sample", "unit/capture/test_waiting", "unit/capture/test_blocking",
                                "unit/capture/test_gate", "unit/capture/test_sampler", "explore sample", *PLAYED],
    "engine/capture/sampler.c": SAMPLER,
    "engine/capture/sampler_record.c": SAMPLER,
    "engine/capture/sampler_visit.c": SAMPLER,
    "engine/capture/thread.c": ["unit/capture/test_sample", "unit/capture/test_blocking", "unit/capture/test_sampler",
                                "explore thread", *PLAYED],
    "engine/capture/unwinder_fp.c": ["unit/capture/test_walk_fp", "unit/capture/test_leaf",
                                     "unit/capture/test_sampler", "sim/play/test_real_frames", *PLAYED],
    "engine/capture/walk_again.c": ["unit/capture/test_walk_again", "unit/capture/test_sample"],
    "engine/capture/walk_fp.c": ["unit/capture/test_walk_fp", "unit/capture/test_walk_again"],
    "engine/capture/walk_fp.h": ["unit/capture/test_walk_fp", "unit/capture/test_walk_again"],
    "engine/method/matrix/matrix_log.c": ["unit/method/test_matrix_log", "explore matrix", "unit/import/test_matrix_oracle"],
    "engine/trace/import/matrix/matrix_documented.c": ["unit/import/test_matrix_stack",
                                                       "unit/import/test_matrix_oracle"],
    "engine/trace/import/matrix/matrix_upstream.c": ["unit/import/test_matrix_stack", "unit/import/test_matrix_oracle"],
    "engine/trace/import/matrix/matrix_stack.c": ["unit/import/test_matrix_stack", "unit/import/test_matrix_oracle"],
    "engine/trace/import/matrix/matrix_map.c": ["unit/import/test_matrix_files"],
    "engine/trace/build/timeline.c": TIMELINE,
    "engine/trace/build/path.c": TIMELINE,
    "engine/trace/model/function_tree.c": [*TIMELINE, "unit/symbols/test_symbols", "unit/trace/test_profile"],
    "engine/trace/session/reader.c": ["unit/store/test_reader", "unit/store/test_session_faults", *TIMELINE],
    "engine/util/idmap.c": ["unit/store/test_reader", "unit/import/test_import", "unit/trace/test_profile", *TIMELINE],
    "engine/util/text_pool.c": ["unit/base/test_texts", "unit/symbols/test_symbols", "unit/trace/test_sinks",
                                "unit/import/test_import"],
    "engine/trace/export/packets.c": SINKS,
    "engine/trace/export/sink_perfetto.c": SINKS,
    "engine/trace/model/sink_window.c": SINKS,
    "engine/trace/export/sink_chrome.c": SINKS,
    "engine/trace/export/sink_folded.c": SINKS,
    "engine/trace/export/sink_speedscope.c": SINKS,
    "engine/trace/report/profile.c": ["unit/trace/test_profile", "unit/trace/test_report"],
    "engine/trace/import/perfetto/import_state.c": ["unit/import/test_import"],
    "engine/trace/import/perfetto/import_perfetto.c": ["unit/import/test_import"],
}
CONTRACT = ["contract fake30 quick", "contract fake35 inlined", "contract fake24 interpreted"]
DIRECTORIES = {
    "engine/backend/art": ["unit/art/test_*", *CONTRACT, "explore artthreads artcode hold"],
    "engine/backend/art/detour": ["unit/art/test_art_detour", "unit/art/test_art_detours", "unit/art/test_art_moved",
                                   "unit/art/test_*", *CONTRACT],
    "engine/backend/art/flight": CONTRACT,
    "engine/backend/art/hooks": ["unit/art/test_*", *CONTRACT],
    "engine/backend/common": ["unit/linux/test_*", "unit/mach/test_*", "explore life", *CONTRACT, "suite record"],
    "engine/backend/common/embed": ["unit/capture/test_start_text", "unit/mach/test_mach_start", "suite install", *CONTRACT],
    "engine/backend/common/libc": ["suite embed", "suite record", *CONTRACT],
    "engine/backend/common/slots": ["unit/art/test_*", *CONTRACT, "suite attach"],
    "engine/backend/linux": ["unit/linux/test_*", "explore suspend unwind", "suite record"],
    "engine/backend/linux/attach": ["suite attach"],
    "engine/backend/linux/embed": ["unit/linux/test_*", "suite record", "suite install"],
    "engine/backend/linux/preload": ["suite record", "suite life", "suite follow"],
    "engine/backend/mach": ["unit/mach/test_*", "explore machthreads machwatch life", "suite contract_mach",
                            "suite deadlock"],
    "engine/base": ["unit/base/test_*", "unit/store/test_*"],
    "engine/capture": ["unit/capture/test_*", "explore sample sampler hold gate blocking thread", *PLAYED],
    "engine/cmd": ["suite cli", "suite golden", "suite record"],
    "engine/cmd/attach": ["unit/attach/test_*", "suite attach"],
    "engine/cmd/capture": ["suite capture"],
    "engine/cmd/import": ["suite cli", "unit/import/test_*", "suite golden"],
    "engine/cmd/record": ["suite record", "suite life", "suite cli"],
    "engine/control": ["unit/control/test_*", "suite control"],
    "engine/flight": ["unit/flight/test_*", "unit/faults/test_faults_dumps", "suite flight"],
    "engine/method": ["unit/method/test_*", "explore calls"],
    "engine/method/matrix": ["unit/method/test_*", "unit/import/test_*", "explore matrix"],
    "engine/method/netease": ["unit/method/test_*", "explore netease", "sim/policy/test_policy_netease"],
    "engine/method/netease/art": CONTRACT,
    "engine/method/rhea": ["unit/method/test_*", "explore packet", "sim/policy/test_policy_rheatrace"],
    "engine/method/rhea/art": ["unit/art/test_atrace", *CONTRACT],
    "engine/store": ["unit/store/test_*", "explore ring table session calls"],
    "engine/trace/api": ["unit/trace/test_*", "suite install", "suite golden"],
    "engine/trace/build": TIMELINE,
    "engine/trace/diff": ["unit/diff/test_*", "suite diff", "unit/faults/test_faults_diff"],
    "engine/trace/export": SINKS,
    "engine/trace/export/firefox": ["suite golden", "suite export", "unit/trace/test_annotations"],
    "engine/trace/export/pprof": ["suite golden", "suite export"],
    "engine/trace/import": ["unit/import/test_*", "suite golden", "suite cli"],
    "engine/trace/import/btrace": ["unit/import/test_*", "suite golden", "suite cli"],
    "engine/trace/import/ftrace": ["unit/import/test_*", "suite golden", "suite cli"],
    "engine/trace/import/matrix": ["unit/import/test_*", "suite golden", "suite cli"],
    "engine/trace/import/perfetto": ["unit/import/test_*", "suite golden", "suite cli"],
    "engine/trace/import/rhea": ["unit/import/test_*", "suite golden", "suite cli"],
    "engine/trace/model": ["unit/trace/test_*", "unit/symbols/test_*", "suite golden"],
    "engine/trace/report": ["unit/trace/test_*", "suite golden", "suite cli"],
    "engine/trace/session": ["unit/store/test_reader", "unit/trace/test_*", "unit/symbols/test_*", "suite golden"],
    "engine/trace/symbols": ["unit/symbols/test_*", "suite names", "suite golden"],
    "engine/util": ["unit/util/test_*", "unit/base/test_*", "unit/import/test_*", "unit/trace/test_*"],
    "engine/watch": ["unit/watch/test_*", "sim/score/test_findings", "suite golden"],
    "sim/app": ["sim/play/test_scenario*", "sim/play/test_swarm", "suite lab"],
    "sim/cmd": ["suite lab", "suite swarm"],
    "sim/explore": ["sim/explore/test_*", "suite explore"],
    "sim/explore/litmus": ["sim/explore/test_*"],
    "sim/fake/art": ["unit/art/test_*", *CONTRACT, "suite virtual"],
    "sim/fake/art/dex": [*CONTRACT, "suite virtual"],
    "sim/fake/art/jni": [*CONTRACT, "suite virtual"],
    "sim/fake/mach": ["unit/mach/test_*", "suite contract_mach", "suite mach"],
    "sim/fake/mach/guard": ["unit/mach/test_mach_guard", "suite deadlock"],
    "sim/genuine": ["suite virtual", *CONTRACT],
    "sim/genuine/cutils": ["unit/art/test_atrace", *CONTRACT],
    "sim/kernel": ["sim/kernel/test_*", *PLAYED],
    "sim/learn": ["sim/learn/test_*", "suite learn"],
    "sim/player": ["sim/play/test_real*", "suite virtual", "suite mach"],
    "sim/player/dex": ["sim/play/test_dex", "suite virtual"],
    "sim/player/mach": ["suite mach"],
    "sim/player/probes": ["sim/policy/test_probes", "sim/play/test_real*", "suite real"],
    "sim/player/virtual": ["suite virtual", "suite mach"],
    "sim/player/virtual/mach": ["suite mach"],
    "sim/policy": ["sim/policy/test_*", "sim/play/test_trial"],
    "sim/runtime": ["sim/play/test_runtime", "sim/play/test_*", *PLAYED],
    "sim/score": ["sim/score/test_*"],
    "sim/trial": ["sim/play/test_trial", "sim/play/test_swarm", "suite swarm"],
}


def killers_of(path):
    """Returns the commands for a file, or none when its directory is not listed."""
    found = []
    for command in FILES.get(path, DIRECTORIES.get(str(Path(path).parent), [])):
        for one in programs_like(command) if "*" in command else [command]:
            if one not in found:
                found.append(one)
    return found


def programs_like(pattern):
    """Returns unit/DIR/test_NAME of each test program that a pattern selects."""
    folder, _, name = pattern.rpartition("/")
    return [f"{folder}/{path.stem}" for path in sorted(Path("tests", folder).glob("*.c"))
            if fnmatchcase(path.stem, name)]
