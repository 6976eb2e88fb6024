/** What Prometheus is told of streams: the board's own as it is made known, and those of others as they are heard. */
import type { Metrics } from '#kit/http/metrics.ts'
import type { AnnouncementView, ListeningView } from '../../core/streams/stream-views.ts'

/** Of a board that sends. */
export function measureAnnouncement(metrics: Metrics, view: () => AnnouncementView): void {
  const { counted, gauge } = adders(metrics)
  counted('stream_announcements_total', 'Times that the stream was announced over SAP', () => view().count)
  gauge('rtsp_clients', 'Clients connected over RTSP', () => view().clients)
  counted('rtsp_descriptions_total', 'Descriptions given over RTSP', () => view().described)
}

/** Of a board that plays. */
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
