/** Capturing, in a row over the log: the line can be worked on meanwhile. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { copyText } from '#kit/web/copy.ts'
import { saveBytes } from '#kit/web/download.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { lamp } from '#kit/web/lamp.ts'
import { daemonNow, now, zone } from '#kit/web/now.ts'
import { age, bytesText, dateOf, timeOf } from '#kit/web/numbers.ts'
import { toast } from '#kit/web/toast.ts'
import type { Port } from './api.ts'
import { type Capture, captureName, liveCommand, startCapture } from './capture.ts'
import { nameOf } from './words.ts'

/** The row; it begins to capture when it appears and ends when it goes. */
export function CaptureRow({ port, close }: { port: Port; close: () => void }): VNode {
  const [capture] = useState<Capture>(() => startCapture(port.path, Date.now()))
  useEffect(() => () => void capture.stop(), [])
  const { ended, sizeBytes } = capture
  const isEmpty = !capture.hasFrames()
  function save(): void {
    const parts = capture.stop()
    const name = captureName(nameOf(port.path), dateOf(daemonNow(), zone.value), timeOf(daemonNow(), zone.value))
    saveBytes(parts, name, 'application/vnd.tcpdump.pcap')
    toast(`${name} is saved. Wireshark opens it.`)
    close()
  }
  const command = liveCommand(location.origin, port.path)
  const running = `Capturing for ${age(Math.max(1000, now.value - capture.startedAt))}, ${isEmpty ? 'no frame yet' : bytesText(sizeBytes.value)}`
  return html`<div class="capture"><div class="capture-now">${lamp(ended.value === null ? 'busy' : 'warn')}<span class="grow">${ended.value ?? running}</span>
      <button class="btn" type="button" disabled=${isEmpty} onClick=${save}>Save capture</button>
      <button class="btn quiet icon" type="button" aria-label="Drop capture" onClick=${close}>${icon('close')}</button></div>
    <details><summary>Live in Wireshark</summary><p class="small soft">Run this where Wireshark is; KEY is an API key of a viewer, made on the page Users.</p>
      <div class="copy"><code tabindex="0">${command}</code><button class="btn quiet" type="button" onClick=${() => void copyText(command, 'The command is copied.')}>Copy</button></div></details></div>`
}
