/** Puts the history together: what it records, where it is kept, and who is told when it cannot be written. */
import type { Ledger } from '#kit/records/ledger.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { GatewayConfig } from '../config.ts'
import { createHistory, type History } from '../core/history/history.ts'
import type { Port } from '../core/lines/port.ts'
import type { ValuePayload } from '../core/points/values.ts'
import { openHistoryFile } from '../io/history-file.ts'

/** Payload of `value` of a device by definition. */
interface SeriesPayload {
  series: string | null
  value: ValuePayload['value']
}

/** A value was told. */
export function recordValue(history: History, path: string, payload: ValuePayload | SeriesPayload): void {
  if (!('series' in payload)) history.hear(path, payload)
  else if (payload.series !== null) history.hear(path, { name: payload.series, value: payload.value, quality: 'good' })
}

/** @param ports those that are set up */
export function historyOf(
  { clock, config, log, stateFolder }: AssembleContext<GatewayConfig>,
  ledger: Ledger,
  ports: () => readonly Port[],
): History {
  const about = { where: 'history', severity: 'warning' } as const
  const store = openHistoryFile({
    clock,
    stateFolder,
    log,
    onPutAside(sentence) {
      history.begunAfresh()
      ledger.happened({ ...about, what: 'history_put_aside', sentence })
    },
  })
  const history = createHistory({
    ...{ clock, store, limits: config.history },
    ports: () =>
      ports().map(({ adapter: { faces }, path }) => ({
        path,
        points: () => [...(faces?.points?.list() ?? []), ...(faces?.recorded?.list() ?? [])],
        units: () => faces?.units?.list() ?? [],
      })),
    onFault(fault) {
      if (!fault) return ledger.clear('history_not_written', about.where)
      log.warning('history not written', { fault })
      ledger.raise({
        ...about,
        what: 'history_not_written',
        sentence: `${fault.message}. It is tried again; make room.`,
      })
    },
  })
  return history
}
