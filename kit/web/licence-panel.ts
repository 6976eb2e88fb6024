/** The licences of what the daemon is made of: each package with the name of its licence, its text when asked for. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { LicencePackage } from '../http/licence-routes.ts'
import { call, sentenceOf } from './call.ts'
import { html } from './html.ts'
import { firstAnswer } from './lazy.ts'
import { many } from './numbers.ts'
import { Act, say } from './parts.ts'
import { adoptStyle } from './style.ts'
import * as texts from './texts.ts'

interface Shown {
  of: LicencePackage
  /** Null while it is fetched. */
  text: string | null
  refused: string | null
}

adoptStyle(
  '.licence{margin:0;max-height:60vh;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;font-size:var(--t-small)}',
)

/** @param from path whose answer has the list as `licences`; the texts are below it */
export function LicencePanel({ from }: { from: `/${string}` }): VNode {
  const [packages, setPackages] = useState<LicencePackage[] | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const [isAsked, setAsked] = useState(false)
  const [shown, setShown] = useState<Shown | null>(null)

  async function fetchList(): Promise<void> {
    setAsked(true)
    setRefused(null)
    try {
      setPackages((await call<{ licences: LicencePackage[] }>(`GET ${from}`)).licences)
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
  }
  async function show(of: LicencePackage): Promise<void> {
    setShown({ of, text: null, refused: null })
    const told = (state: Partial<Shown>) => setShown((now) => (now?.of === of ? { ...now, ...state } : now))
    try {
      const { text } = await call<{ text: string }>(`GET ${from}/licences/${of.text}`)
      told({ text })
    } catch (thrown) {
      told({ refused: sentenceOf(thrown) })
    }
  }
  const again = () => void fetchList()
  const body = packages
    ? table(packages, (each) => void show(each))
    : isAsked
      ? firstAnswer(refused, texts.askingLicences, texts.licencesNotRead, again)
      : html`<p class="in faint">${texts.licencesAre}</p>`
  return html`<section class="panel" aria-label="Licences"><header><h2 class="grow">Licences</h2>
    ${packages ? html`<span class="faint">${many(packages.length, 'package')}</span>` : html`<${Act} kind="quiet" run=${again}>Show</${Act}>`}</header>
    ${shown ? textOf(shown, () => setShown(null)) : body}</section>`
}

function table(packages: readonly LicencePackage[], show: (of: LicencePackage) => void): VNode {
  return html`<table class="table read"><tbody>${packages.map(
    (
      each,
    ) => html`<tr key=${`${each.name} ${each.version}`}><th scope="row">${each.name} <span class="faint">${each.version}</span></th>
      <td><button class="btn quiet" type="button" aria-label=${texts.licenceOf(each.licence, each.name)} onClick=${() => show(each)}>${each.licence}</button></td></tr>`,
  )}</tbody></table>`
}

function textOf({ of, text, refused }: Shown, back: () => void): VNode {
  const title = `${of.name} ${of.version}, ${of.licence}`
  return html`<div class="in stack"><div class="acts"><b class="grow">${title}</b><${Act} run=${back}>Back to the list</${Act}></div>
    ${
      refused !== null
        ? say('fault', texts.licencesNotRead, refused)
        : text === null
          ? say('busy', texts.askingLicences, texts.usuallyBrief)
          : html`<pre class="licence" tabindex="0" aria-label=${title}>${text}</pre>`
    }</div>`
}
