/** The calls of the macro pages to the controller; loaded with them. */
import { call } from '#kit/web/call.ts'
import type { KnownVerb } from '../core/control/gates.ts'
import type { Json } from '../core/json.ts'
import type { MacroWish, OpenMacro, TrialWish } from '../core/macros/editing.ts'
import type { Replay, RunLine, Trial, WholeRun } from '../core/macros/past-runs.ts'
import type { MacroLine } from '../core/surfaces.ts'
import type { Done } from './api.ts'

/** Saving checks the whole site; a macro is answered after ten seconds at the latest. */
const LONG_MS = 30_000

/** Each throws CallFault for a refusal and NoContact if no answer came. */
export const macroApi = {
  list: () => call<{ macros: MacroLine[] }>('GET /ui/macros'),
  open: (id: number) => call<OpenMacro>(`GET /ui/macros/open?id=${id}`),
  save: (wish: MacroWish) =>
    call<{ pending: number; macro_id: number }>('POST /ui/macros/save', wish, { answerMs: LONG_MS }),
  tryOut: (wish: TrialWish) => call<Trial>('POST /ui/macros/try', wish, { answerMs: LONG_MS }),
  runs: (macro: number, before?: number) =>
    call<{ runs: RunLine[] }>(
      `GET /ui/macro/runs?${new URLSearchParams({ macro: String(macro), ...(before === undefined ? {} : { before: String(before) }) })}`,
    ),
  run: (id: number) => call<WholeRun>(`GET /ui/macro/run?id=${id}`),
  replay: (id: number) => call<Replay>(`GET /ui/macro/replay?id=${id}`),
  cancel: (id: number) => call<Done>('POST /ui/macro/cancel', { run_id: id }),
  /** @returns the run as far as it came, also if it did not end well */
  start: (macroId: number, args: Record<string, Json>) =>
    call<Done & { run_id?: number | null }>('POST /ui/macro', { macro_id: macroId, args }, { answerMs: LONG_MS }),
  verbs: (target: { zone_id?: number; device_id?: number }) =>
    call<{ verbs: KnownVerb[] }>(
      `GET /ui/verbs?${new URLSearchParams(Object.entries(target).map(([key, id]) => [key, String(id)]))}`,
    ),
}
