/** How a board's stream is made known, and how those of others are heard, as values. */
import type { StreamRefusal } from './stream-book.ts'

/** How the stream is made known now. */
export interface AnnouncementView {
  /** Announcements over SAP go out. */
  sap: boolean
  /** Epoch ms of the last one; null before the first. */
  last_at: number | null
  /** Since the start. */
  count: number
  /** RAVENNA devices find it. */
  rtsp: boolean
  /** Where it is described; null where it is not. */
  url: string | null
  /** Connected over RTSP now. */
  clients: number
  /** Descriptions given over RTSP since the start. */
  described: number
  /** Empty while there is no stream. */
  sdp: string
}

/** What was heard, and what was not taken. */
export interface ListeningView {
  /** Streams listed. */
  streams: number
  /** SAP is heard. */
  sap: boolean
  sap_packets: number
  /** No announcements; such that cannot be read: encrypted, compressed, of IPv6. */
  sap_malformed: number
  sap_not_read: number
  /** Sessions that RAVENNA devices name; asked in vain. */
  sessions: number
  sessions_failed: number
  /** Descriptions that are not listed, by why. */
  refused: Readonly<Record<StreamRefusal, number>>
}
