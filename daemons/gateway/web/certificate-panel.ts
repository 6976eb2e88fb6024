/** Encryption of the system page: what this page came over, the gateway's certificate, and its root CA to be trusted. */
import type { VNode } from 'preact'
import { zone } from '#kit/web/contact.ts'
import { saveFrom } from '#kit/web/copy-and-save.ts'
import { factTable } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { dateOf } from '#kit/web/numbers.ts'
import { say } from '#kit/web/parts.ts'
import type { System } from './api.ts'
import * as texts from './texts.ts'

export function CertificatePanel({ tls }: { tls: System['tls'] }): VNode {
  const { leaf, outside } = tls
  const rows: [string, Child][] = [
    ...(tls.isOn && leaf
      ? ([
          [texts.holdsFor, [...leaf.names, ...leaf.addresses].join(', ')],
          [texts.renewedBefore, dateOf(leaf.endsAt, zone.value)],
        ] as [string, Child][])
      : []),
  ]
  if (tls.rootEndsAt !== null) rows.push([texts.rootEnds, dateOf(tls.rootEndsAt, zone.value)])
  if (tls.rootFingerprint !== null)
    rows.push([texts.rootFingerprint, html`<span class="mono wrap">${tls.rootFingerprint}</span>`])
  return html`<section class="panel" aria-label="Certificate"><header><h2>Certificate</h2>
      <div class="acts"><button class="btn" type="button" onClick=${() => saveFrom('/api/system/ca-cert')}>Download root CA</button></div></header>
    ${connection(tls.isOn)}${tls.isOn && outside.length > 0 ? say('warn', texts.rootMayNotSign(outside.join(', ')), texts.nameCameLater) : null}
    ${rows.length > 0 ? factTable(rows) : null}<p class="in faint">${texts.trustTheRoot}</p></section>`
}

function connection(isOn: boolean): VNode {
  if (location.protocol !== 'https:') return say('off', texts.plainHttp, texts.plainHttpMeans)
  return say('ok', texts.https, isOn ? texts.pageWasSentEncrypted : texts.encryptedByAnother)
}
