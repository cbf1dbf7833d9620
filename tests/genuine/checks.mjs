// What a trace of ours must be once the trace processor has read it. Many faults make no error there: events are
// dropped, names are NULL, slices never end. So what arrived is compared with what the writer says it wrote.
//
//   faults(tp, wrote)     a list of lines, empty when all is well
//   wrote                 {threads, slices, instants, counter_values, process_values, hitches, samples, pid}

// Stats that mean loss although the processor calls some of them information only.
export const BAD_STATS = `select name, severity, value from stats where value != 0 and
  (severity in ('error', 'data_loss') or
   name in ('interned_data_tokenizer_errors', 'packet_skipped_seq_needs_incremental_state_invalid'))`;

const count = (tp, from) => tp.query(`select count(*) as n from ${from}`)[0].n;

export function faults(tp, wrote) {
  const found = [];
  const none = (what, from) => {
    const n = count(tp, from);
    if (n) found.push(`${n} ${what}`);
  };
  const equal = (what, from, expected) => {
    const n = count(tp, from);
    if (n !== expected) found.push(`${n} ${what}, but the writer wrote ${expected}`);
  };
  for (const s of tp.query(BAD_STATS)) found.push(`statistic ${s.name} (${s.severity}) is ${s.value}`);

  // What is the process's own. As JSON, hitches are instants.
  const late = "name in ('hitch', 'hang') and track_id in (select id from process_track)";
  equal('hitches', `slice where ${late}`, wrote.hitches);
  equal('slices', `slice where dur != 0 and not (${late})`, wrote.slices);
  equal('instants', `slice where dur = 0 and not (${late})`, wrote.instants);
  equal('values of the process', `counter join process_counter_track t on t.id = counter.track_id
    join process using (upid) where pid = ${wrote.pid}`, wrote.process_values);
  none('values of the process are on tracks without a name', `process_counter_track where name is null or name = ''`);
  equal('threads', `thread_track join thread using (utid)`, wrote.threads);
  equal('counter values', `counter join thread_counter_track t on t.id = counter.track_id`, wrote.counter_values);
  equal('samples', 'perf_sample', wrote.samples);

  none('slices never end', 'slice where dur < 0');
  none('slices have no name', "slice where name is null or name = ''");
  none('slices are on no track of a thread', `slice where dur != 0 and not (${late}) and track_id not in
    (select t.id from thread_track t join thread using (utid) where tid > 0)`);
  none('slices are of another process', `slice s join thread_track t on t.id = s.track_id join thread using (utid)
    join process using (upid) where pid != ${wrote.pid}`);
  none('slices stick out of the one they are in', `slice c join slice p on p.id = c.parent_id
    where c.ts < p.ts or (c.dur >= 0 and c.ts + c.dur > p.ts + p.dur)`);
  none('slices are not one deeper than the one they are in',
    `slice c left join slice p on p.id = c.parent_id where c.depth != coalesce(p.depth + 1, 0)`);
  none('slices of equal depth overlap', `(select ts, dur, lead(ts) over (partition by track_id, depth order by ts) as
    next from slice where dur > 0) where ts + dur > next`);
  none('slices used more CPU time than wall time', 'slice where thread_dur > dur');
  none('samples have no stack', 'perf_sample where callsite_id is null');
  none('samples are of no known thread', 'perf_sample left join thread using (utid) where tid is null or tid = 0');
  none('samples are of times when their thread shows nothing', `perf_sample p join (select utid, min(ts) as first,
    max(ts + dur) as last from slice s join thread_track t on t.id = s.track_id group by utid) using (utid)
    where p.ts < first or p.ts > last`);
  none('frames have no name', "stack_profile_frame where name is null or name = ''");
  none('threads have no name', `thread_track join thread using (utid) where thread.name is null or thread.name = ''`);
  return found;
}

// Bytes at the end of a file that are no whole packet; the processor ignores them silently.
export function cutBytes(bytes) {
  let at = 0;
  while (at < bytes.length) {
    let p = at, size = 0, shift = 0, c;
    if (bytes[p++] !== 0x0a) return bytes.length - at;
    do {
      if (p >= bytes.length) return bytes.length - at;
      c = bytes[p++];
      size += (c & 127) * 2 ** shift;
      shift += 7;
    } while (c & 128);
    if (p + size > bytes.length) return bytes.length - at;
    at = p + size;
  }
  return 0;
}

// Compares the states of threads in the arguments of slices with the processor's own. Returns the faults. One slice must
// have all of `kinds`.
export function slicesLackStates(tp, kinds) {
  const found = [];
  const slices = tp.query(`select s.id, s.ts, s.dur, utid, ifnull(extract_arg(s.arg_set_id, 'debug.running'), 0) as running,
    ifnull(extract_arg(s.arg_set_id, 'debug.runnable'), 0) as runnable,
    ifnull(extract_arg(s.arg_set_id, 'debug.sleeping'), 0) as sleeping,
    ifnull(extract_arg(s.arg_set_id, 'debug.uninterruptible'), 0) as uninterruptible
    from slice s join thread_track t on t.id = s.track_id where s.dur > 0`);
  const states = new Map();
  for (const t of tp.query('select ts, dur, utid, state from thread_state where dur > 0'))
    states.set(t.utid, [...(states.get(t.utid) ?? []), t]);
  const of = {running: ['Running'], runnable: ['R', 'R+'], sleeping: ['S'], uninterruptible: ['D']};
  for (const s of slices) {
    for (const [kind, names] of Object.entries(of)) {
      const truth = (states.get(s.utid) ?? []).filter(t => names.includes(t.state))
        .reduce((n, t) => n + Math.max(0, Math.min(t.ts + t.dur, s.ts + s.dur) - Math.max(t.ts, s.ts)), 0);
      if (Math.abs(truth - s[kind]) > 1) found.push(`slice ${s.id}: ${kind} is ${s[kind]}, but ${truth} by the states`);
    }
  }
  if (!slices.some(s => kinds.every(kind => s[kind]))) found.push(`no slice has ${kinds.join(', ')}`);
  return found;
}
