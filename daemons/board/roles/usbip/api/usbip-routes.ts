/** Sharing a USB device: how it is, and what is set about it. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import { usbipAnswer } from '../../../api/answers.ts'
import type { UsbSharing } from '../core/usb-sharing.ts'
import type { UsbipBook } from '../core/usbip-book.ts'
import { LONGEST_ALLOW, LONGEST_DEVICE } from '../core/usbip-settings.ts'
import { usbipView } from '../core/usbip-view.ts'

const form = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'the device is shared' })),
    allow: Type.Optional(
      Type.String({
        maxLength: LONGEST_ALLOW,
        description: 'addresses and networks that may have it, by commas or spaces; empty: every address',
      }),
    ),
    device: Type.Optional(
      Type.String({
        maxLength: LONGEST_DEVICE,
        description: 'which: 0403:6001, 0403:6001:SERIAL, a place such as 1-1.4, a hub for all on it; empty: the first',
      }),
    ),
    detach: Type.Optional(Type.Boolean({ description: 'takes it from its host, and holds that host off for a while' })),
  },
  { additionalProperties: false },
)

/** @source Interface 2, B, endpoints */
export function usbipRoutes({
  sharing,
  book,
  recorder,
}: {
  sharing: UsbSharing
  book: UsbipBook
  recorder: Recorder
}): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/usbip',
      who: 'admin',
      reply: usbipAnswer,
      summary: 'The USB device that is shared, and the host that has it',
      handle: () => usbipView(sharing),
    }),
    route({
      method: 'POST',
      path: '/api/usbip',
      who: 'admin',
      reply: usbipAnswer,
      summary: 'What is shared and with whom; applied at once and saved. `detach=1` takes it from its host',
      body: form,
      async handle({ body: { detach, ...change }, ...asker }) {
        const changed = await book.change(change)
        if (Object.keys(changed).length > 0) await recorder.changed(asker, 'changed usb sharing', undefined, changed)
        const addresses = detach === true ? await sharing.detach() : []
        for (const address of addresses) await recorder.changed(asker, 'took the usb device from its host', address)
        return usbipView(sharing)
      },
    }),
  ]
}
