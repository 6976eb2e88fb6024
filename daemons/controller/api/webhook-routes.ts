/** The way in of what devices tell by webhooks: signed, bounded, and refused alike whatever is wrong. */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Type } from 'typebox'
import { Reply, type Route, uploadRoute, wholeUpload } from '#kit/http/route.ts'
import { networkOf } from '#kit/net/address.ts'
import { isSignedBy } from '#kit/net/signature.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Refusals } from '#kit/records/records.ts'
import type { DeviceWebhook } from '../core/drivers/driver.ts'

/** What the route depends on. */
interface WebhookParts {
  /** Undefined for a device that is not there, or takes no webhooks. */
  webhookOf(deviceId: number): DeviceWebhook | undefined
  refusals: Refusals
  /** Largest body. */
  bodyBytes: number
  /** Time for the whole body. */
  bodyMs: number
}

/** Signed with by nobody: a device that takes no webhooks is refused in the same time. */
const NO_SECRET = randomBytes(32).toString('hex')

/** Refusals look alike, so that nobody learns which devices there are. @source interface document 2, part A, Events */
export function deviceWebhookRoute({ webhookOf, refusals, bodyBytes, bodyMs }: WebhookParts): Route {
  return uploadRoute({
    method: 'POST',
    path: '/webhooks/device/:device',
    who: 'anyone',
    summary: 'Webhook of a device, such as a gateway, signed with the secret that stands in its config',
    status: 204,
    params: Type.Object({ device: Type.String({ maxLength: 16, description: 'id of the device' }) }),
    upload: { maxBytes: bodyBytes, idleMs: bodyMs, wholeMs: bodyMs },
    async handle({ params, body, headers, remoteAddress: from }) {
      const { device } = params as unknown as { device: string }
      const webhook = /^\d{1,15}$/.test(device) ? webhookOf(Number(device)) : undefined
      const bytes = await wholeUpload(body)
      const isSigned = isSignedBy(signatureOf(headers), bytes, webhook?.secret ?? NO_SECRET)
      if (!webhook || !isSigned) {
        const group = `webhook ${networkOf(from)}`
        refusals.add({ group, who: 'nobody', from, what: 'webhook refused', target: `device ${device}`, detail: {} })
        throw new Fault('webhook_refused', 'No device takes webhooks here that are signed like this one.')
      }
      if (!webhook.tell(bytes)) throw new Fault('webhook_early', 'The device is offline: send it again later.')
      return new Reply(204)
    },
  })
}

function signatureOf({ 'x-svc-signature': given }: IncomingHttpHeaders): string {
  return typeof given === 'string' ? given : ''
}
