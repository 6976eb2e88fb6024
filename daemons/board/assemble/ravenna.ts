/** What streams are called where RAVENNA devices look for them. */
import type { ServiceKind } from '#kit/net/mdns/service-kind.ts'

/** @source RAVENNA Operating Principles 1.0, 5.1: sessions are `_ravenna_session` of `_rtsp._tcp` */
export const RAVENNA: ServiceKind = { type: 'rtsp', subtype: 'ravenna_session' }
