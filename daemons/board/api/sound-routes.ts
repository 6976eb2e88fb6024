/** Shared by both roles with sound: an hour of history, and metrics of their clock and streams. */
import type { Metrics } from '#kit/http/metrics.ts'
import { type Route, route } from '#kit/http/route.ts'
import { type Ptp, type PtpView, ptpStateTable } from '../core/ptp/ptp.ts'
import type { History } from '../core/sound/sound.ts'
import type { AnnouncementView } from '../core/streams/announcing.ts'
import type { ListeningView } from '../core/streams/finding.ts'
import { historyAnswer } from './answers.ts'

/** Measurements of the last hour. */
export function historyRoutes({ history }: { history: Pick<History, 'view'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/history',
      who: 'admin',
      reply: historyAnswer,
      summary: 'What was measured each second of the last hour',
      handle: () => history.view(),
    }),
  ]
}

// Metrics of the clock that sound runs on.

/** Adds the metrics; unknown values are left out, never 0. */
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

// Metrics of streams: the board's own announcements, and what is heard of others.

/** For a board that sends. */
export function measureAnnouncement(metrics: Metrics, view: () => AnnouncementView): void {
  const { counted, gauge } = adders(metrics)
  counted('stream_announcements_total', 'Times that the stream was announced over SAP', () => view().count)
  gauge('rtsp_clients', 'Clients connected over RTSP', () => view().clients)
  counted('rtsp_descriptions_total', 'Descriptions given over RTSP', () => view().described)
}

/** For a board that plays. */
export function measureListening(metrics: Metrics, view: () => ListeningView): void {
  const { counted, gauge } = adders(metrics)
  gauge('streams', 'Streams listed', () => view().streams)
  metrics.counts({ name: 'sap_packets_total', help: 'Packets heard over SAP, by what', labels: ['what'] }, () => {
    const { sap_malformed: malformed, sap_not_read: notRead, sap_packets: packets } = view()
    const values = { read: packets - malformed - notRead, malformed, not_read: notRead }
    return Object.entries(values).map(([what, value]) => ({ labels: { what }, value }))
  })
  metrics.counts({ name: 'streams_refused_total', help: 'Descriptions not listed, by why', labels: ['why'] }, () =>
    Object.entries(view().refused).map(([why, value]) => ({ labels: { why }, value })),
  )
  gauge('ravenna_sessions', 'Sessions that RAVENNA devices name', () => view().sessions)
  counted('ravenna_failed_total', 'Times that a session gave no description', () => view().sessions_failed)
}

function adders(metrics: Metrics) {
  return {
    counted: (name: string, help: string, read: () => number) =>
      metrics.counts({ name, help }, () => [{ labels: {}, value: read() }]),
    gauge: (name: string, help: string, read: () => number) =>
      metrics.gauge({ name, help }, () => [{ labels: {}, value: read() }]),
  }
}
