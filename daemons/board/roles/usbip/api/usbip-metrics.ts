/** What Prometheus is told of sharing. */
import type { Metrics } from '#kit/http/metrics.ts'
import type { UsbSharing } from '../core/usb-sharing.ts'

/** @param metrics gains what is shared and attached now, connections by how they ended, and bytes */
export function measureUsbip(metrics: Metrics, sharing: UsbSharing): void {
  const now = (value: number) => [{ labels: {}, value }]
  metrics.gauge({ name: 'usbip_shared', help: 'devices that are shared or have a host' }, () =>
    now(sharing.shares.filter(({ state }) => state === 'exported' || state === 'attached').length),
  )
  metrics.gauge({ name: 'usbip_attached', help: 'devices that a host has' }, () =>
    now(sharing.shares.filter(({ guest }) => guest).length),
  )
  metrics.counts(
    { name: 'usbip_connections_total', help: 'connections by how their first phase ended', labels: ['outcome'] },
    () => Object.entries(sharing.counts.outcomes).map(([outcome, value]) => ({ labels: { outcome }, value })),
  )
  metrics.counts({ name: 'usbip_bytes_total', help: 'bytes from and to hosts', labels: ['direction'] }, () => {
    const { inBytes, outBytes } = bytesOf(sharing)
    return [
      { labels: { direction: 'in' }, value: inBytes },
      { labels: { direction: 'out' }, value: outBytes },
    ]
  })
}

/** Of hosts that have left, and of those that are there. */
function bytesOf({ counts, shares }: UsbSharing): { inBytes: number; outBytes: number } {
  let { inBytes, outBytes } = counts
  for (const { link } of shares) {
    if (!link) continue
    const { receivedBytes, ackedBytes } = link.counts()
    inBytes += receivedBytes
    outBytes += ackedBytes
  }
  return { inBytes, outBytes }
}
