/** What Prometheus is told of the clock that sound runs on. */
import type { Metrics } from '#kit/http/metrics.ts'
import type { Ptp, PtpView } from '../../core/ptp/ptp.ts'
import { ptpStateTable } from '../../core/ptp/ptp-state-table.ts'

/** Adds them; what is not known is left out, never 0. */
export function measurePtp(metrics: Metrics, ptp: Pick<Ptp, 'view'>): void {
  const one = (name: string, help: string, read: (view: PtpView) => number | null) =>
    metrics.gauge({ name: `ptp_${name}`, help }, () => {
      const value = read(ptp.view())
      return value === null ? [] : [{ labels: {}, value }]
    })
  metrics.gauge({ name: 'ptp_state', help: '1 for the state that the clock is in', labels: ['state'] }, () => {
    const { state: now } = ptp.view()
    return Object.keys(ptpStateTable).map((state) => ({ labels: { state }, value: Number(state === now) }))
  })
  one('offset_seconds', "Sound's clock less the master's", ({ offset_ns }) => seconds(offset_ns))
  one('path_delay_seconds', 'Time from the master to this board', ({ path_delay_ns }) => seconds(path_delay_ns))
  one('rate_ppm', 'How much faster the master runs than this machine', ({ rate_ppm }) => rate_ppm)
  one('sync_age_seconds', 'Time since the master was heard', ({ last_sync_age_ms: ms }) =>
    ms === null ? null : ms / 1000,
  )
  metrics.counts({ name: 'ptp_steps_total', help: "Jumps of sound's clock" }, () => [
    { labels: {}, value: ptp.view().steps },
  ])
}

function seconds(ns: number | null): number | null {
  return ns === null ? null : ns / 1e9
}
