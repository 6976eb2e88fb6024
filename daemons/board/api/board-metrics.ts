/** What the board and its machine measure. */
import type { Metrics } from '#kit/http/metrics.ts'
import type { BoardStatus } from '../core/board-status.ts'

/** Adds them; what is not known is left out, never 0. */
export function measureBoard(metrics: Metrics, status: () => BoardStatus): void {
  const one = (name: string, help: string, read: (status: BoardStatus) => number | null | undefined) =>
    metrics.gauge({ name: `board_${name}`, help }, () => {
      const value = read(status())
      return value === null || value === undefined ? [] : [{ labels: {}, value }]
    })
  metrics.gauge(
    { name: 'board_info', help: 'What the board is', labels: ['role', 'name', 'hostname', 'version'] },
    () => {
      const { role, name, hostname, version } = status()
      return [{ labels: { role, name, hostname, version }, value: 1 }]
    },
  )
  metrics.gauge({ name: 'board_verdict', help: '1 for the state that the board is in', labels: ['state'] }, () =>
    oneOf(['ok', 'busy', 'warn', 'fault', 'off'], status().verdict.state),
  )
  metrics.gauge({ name: 'board_network', help: '1 for the state of its address', labels: ['state'] }, () =>
    oneOf(['not_owned', 'dhcp', 'unconfirmed', 'static', 'fallen_back', 'refused'], status().network.state),
  )
  metrics.gauge({ name: 'board_last_start', help: 'When and why it started', labels: ['reason'] }, () => {
    const { at, reason } = status().last_start
    return [{ labels: { reason }, value: at / 1000 }]
  })
  one('uptime_seconds', 'Time since the daemon started', ({ uptime_s }) => uptime_s)
  one('temperature_celsius', 'The hottest sensor of the machine', ({ temperature_c }) => temperature_c)
  one('memory_total_bytes', 'Memory of the machine', ({ memory }) => memory.total_bytes)
  one('memory_available_bytes', 'Memory that programs can still have', ({ memory }) => memory.available_bytes)
  one('load1', 'Mean load of one minute', ({ load }) => load[0])
  one('time_synchronised', '1 where the clock follows a time server', ({ time }) =>
    time.synchronised === null ? null : Number(time.synchronised),
  )
}

function oneOf(states: readonly string[], now: string): { labels: { state: string }; value: number }[] {
  return states.map((state) => ({ labels: { state }, value: Number(state === now) }))
}
