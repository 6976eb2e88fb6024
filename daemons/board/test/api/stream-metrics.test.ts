/** Tests of api/sound-routes.ts. */
import t from 'tap'
import { createMetrics } from '#kit/http/metrics.ts'
import { measureAnnouncement, measureListening } from '../../api/sound-routes.ts'

t.test('reports how often the own stream was announced and described', async (t) => {
  const metrics = createMetrics({ process: false })
  const view = { sap: true, last_at: 1, count: 7, rtsp: true, url: null, clients: 2, described: 3, sdp: '' }
  measureAnnouncement(metrics, () => view)
  const text = await metrics.text()
  t.match(text, /stream_announcements_total 7/)
  t.match(text, /rtsp_clients 2/)
  t.match(text, /rtsp_descriptions_total 3/)
})

t.test('reports how many other streams are listed, and how many were left out, by reason', async (t) => {
  const metrics = createMetrics({ process: false })
  measureListening(metrics, () => ({
    streams: 4,
    sap: true,
    sap_packets: 100,
    sap_malformed: 5,
    sap_not_read: 15,
    sessions: 2,
    sessions_failed: 1,
    refused: { unreadable: 6, flood: 7, sender_full: 8, full: 9 },
  }))
  const text = await metrics.text()
  for (const line of [
    /streams 4\n/,
    /sap_packets_total\{what="read"\} 80/,
    /sap_packets_total\{what="malformed"\} 5/,
    /sap_packets_total\{what="not_read"\} 15/,
    /streams_refused_total\{why="flood"\} 7/,
    /streams_refused_total\{why="full"\} 9/,
    /ravenna_sessions 2/,
    /ravenna_failed_total 1/,
  ])
    t.match(text, line)
})
