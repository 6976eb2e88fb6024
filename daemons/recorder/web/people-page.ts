/** People: vehicles that have a name, plates that have none yet, and whether anything is recognised at all. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { area, choice, input, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { count, many, sinceText } from '#kit/web/numbers.ts'
import { Act, icon, type Judgement, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { followRow } from '#kit/web/tools.ts'
import { type SeenEvent, thumbnailPath } from './events-api.ts'
import { type Identity, peopleApi, type RecognitionState, type UnnamedPlate } from './people-api.ts'
import * as texts from './texts.ts'

const LOOK_MS = 5000

adoptStyle(`
.plates,.plain{margin:0;padding:0;list-style:none}
.plates{display:grid;grid-template-columns:repeat(auto-fill,minmax(12rem,1fr));gap:var(--s3);padding:var(--s3) var(--s4) var(--s4);}
.plates a{display:grid;gap:.15rem;color:inherit;text-decoration:none;border-radius:var(--radius);box-shadow:inset 0 0 0 1px var(--edge);overflow:clip}
.plates a:hover b{text-decoration:underline}
.plates a[aria-current]{box-shadow:inset 0 0 0 2px var(--accent)}
.plates img{display:block;width:100%;height:auto;aspect-ratio:16/9;object-fit:contain;background:var(--sunken);font-size:var(--t-small);color:var(--ink-2)}
.plates span{padding-inline:.6rem;overflow-wrap:anywhere}
.plates span:last-child{padding-bottom:.5rem}
@container app (max-width: 44rem){.plates{grid-template-columns:1fr 1fr;gap:var(--s2);padding-inline:var(--s3)}}
`)

interface Known {
  state: RecognitionState
  identities: Identity[]
  unnamed: UnnamedPlate[]
}

interface Again {
  again: () => Promise<void>
}

/** The page. @param what `new`, `plate`, `who` or nothing; @param which the plate or the identity */
export function PeoplePage({ what, which }: { what?: string; which?: string }): VNode {
  const [known, setKnown] = useState<Known | null>(null)
  const { again, refused } = useLook(async () => {
    const [state, identities, unnamed] = await Promise.all([peopleApi.state(), peopleApi.list(), peopleApi.unnamed()])
    setKnown({ state, identities: identities.toSorted((a, b) => a.name.localeCompare(b.name)), unnamed })
  }, LOOK_MS)
  useKeys(texts.people, [{ key: 'n', what: texts.nameVehicle, run: () => goTo('people', 'new') as undefined }])
  if (known === null)
    return html`<h1 class="sr">People</h1><section class="panel">${firstAnswer(refused, texts.askingPeople, texts.peopleNotRead)}</section>`
  const { identities, state, unnamed } = known
  const form = formOf({ ...known, what, which, again })
  return html`<h1 class="sr">People</h1>${verdict(judgePeople(known), turnAct(state, again))}
    <div class=${form ? 'cols with-form' : ''}><div class="stack">
      <section class="panel" aria-label="Without a name"><header><h2>Without a name</h2><span class="faint grow">plates that were read</span></header>${plateCards(unnamed, { state, which })}</section>
      <section class="panel" aria-label="Named"><header><h2 class="grow">Named</h2><div class="acts"><a class="btn" href=${linkTo('people', 'new')}>Name a vehicle</a></div></header>${nameTable(identities, which)}</section></div>${form}</div>`
}

export function judgePeople({ identities, state, unnamed }: Known): Judgement {
  if (!state.available)
    return { lit: state.enabled ? 'warn' : 'off', sentence: texts.recognitionUnavailable, why: state.why ?? '' }
  if (!state.enabled) return { lit: 'off', sentence: texts.recognitionIsOff, why: texts.recognitionMeans }
  const why = texts.namedAndUnnamed(many(identities.length, 'name'), many(unnamed.length, 'plate'))
  return { lit: 'ok', sentence: texts.platesAreRead, why }
}

function turnAct({ available, enabled }: RecognitionState, again: () => Promise<void>): Child {
  const turn = (next: boolean) =>
    doneOrSaid(() => peopleApi.turn(next), again, next ? texts.recognitionOn : texts.recognitionIsOff)
  if (enabled)
    return html`<${Asked} act=${texts.switchRecognitionOff} title=${texts.switchOffQuestion} text=${texts.switchOffMeans} sure=${texts.switchRecognitionOff} keep=${texts.keepRecognition} run=${() => turn(false)} />`
  return available ? html`<${Act} kind="primary" run=${() => void turn(true)}>Switch on</${Act}>` : null
}

function plateCards(
  unnamed: readonly UnnamedPlate[],
  { state, which }: { state: RecognitionState; which?: string | undefined },
): Child {
  if (unnamed.length === 0)
    return say('off', texts.noUnnamedPlates, state.enabled ? texts.platesCome : texts.nothingIsRead)
  return html`<ul class="plates">${unnamed.map(
    ({
      count: times,
      event_id: event,
      last_at: at,
      plate,
    }) => html`<li key=${plate}><a href=${linkTo('people', 'plate', plate)} aria-current=${plate === which || undefined}>
      <img src=${thumbnailPath(event)} alt=${texts.pictureOfPlate(plate)} loading="lazy" width="320" height="180" />
      <span><b class="mono">${plate}</b></span><span class="small soft">${texts.seenTimes(count(times))}</span>
      <span class="small faint">${sinceText(at, daemonNow(), zone.value)}</span></a></li>`,
  )}</ul>`
}

function nameTable(identities: readonly Identity[], which?: string): Child {
  if (identities.length === 0) return say('off', texts.noNames, texts.whatNamesAre)
  return html`<table class="table fold rows no-lit"><thead><tr><th>Name</th><th>Plates</th></tr></thead><tbody>${identities.map(
    ({ id, name, plates }) => {
      const href = linkTo('people', 'who', id)
      return html`<tr key=${id} class=${id === which ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
        <td class="name"><a href=${href} aria-current=${id === which || undefined}><b>${name}</b></a></td>
        <td class="setup mono">${plates.join(', ') || texts.noPlate}</td></tr>`
    },
  )}</tbody></table>`
}

interface FormFacts extends Known, Again {
  what?: string | undefined
  which?: string | undefined
}

function formOf({ again, identities, unnamed, what, which }: FormFacts): VNode | null {
  if (what === 'new') return html`<${NameForm} plate="" identities=${identities} again=${again} key="new" />`
  if (what === 'plate' && which !== undefined) {
    const seen = unnamed.find(({ plate }) => plate === which)
    return html`<${NameForm} plate=${which} event=${seen?.event_id} identities=${identities} again=${again} key=${`plate ${which}`} />`
  }
  const identity = what === 'who' ? identities.find(({ id }) => id === which) : undefined
  return identity
    ? html`<${IdentityForm} identity=${identity} identities=${identities} again=${again} key=${identity.id} />`
    : null
}

function formHead(title: string): VNode {
  return html`<header><h2>${title}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('people')} aria-label="Close form">${icon('close')}</a></div></header>`
}

interface NameFacts extends Again {
  plate: string
  event?: string | undefined
  identities: readonly Identity[]
}

/** Names a plate, or gives it to somebody who has a name. */
function NameForm({ again, event, identities, plate }: NameFacts): VNode {
  const form = useForm({ into: '', name: '', plates: plate }, plate === '' ? 'new' : 'draft')
  const { into } = form.values.value
  async function save(): Promise<void> {
    const { name, plates } = form.values.value
    const target = identities.find(({ id }) => id === into)
    const given = platesIn(plates)
    if (target) await peopleApi.change(target.id, { plates: [...target.plates, ...given] })
    else await peopleApi.add(String(name).trim(), given)
    form.settle()
    toast(texts.isNamed(target?.name ?? String(name).trim()))
    await again()
    goTo('people')
  }
  function submit(sent: Event): void {
    sent.preventDefault()
    void form.submit(save)
  }
  const options: [string, string][] = [
    ['', texts.newName],
    ...identities.map(({ id, name }): [string, string] => [id, name]),
  ]
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${texts.nameVehicle}>${formHead(plate === '' ? texts.nameVehicle : plate)}
    <div class="in stack">${event ? html`<img src=${thumbnailPath(event)} alt=${texts.pictureOfPlate(plate)} width="320" height="180" />` : null}
      ${identities.length > 0 ? choice({ form, name: 'into', label: texts.belongsTo, options }) : null}
      ${into === '' ? input({ form, name: 'name', label: texts.nameLabel, first: true, placeholder: texts.vehicleExample }) : null}
      ${area({ form, name: 'plates', label: texts.platesLabel, rows: 2, hint: texts.platesHint })}${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${texts.save}</${Act}></footer></form>`
}

interface IdentityFacts extends Again {
  identity: Identity
  identities: readonly Identity[]
}

/** Changes a name, merges it into another, or forgets it. */
function IdentityForm({ again, identities, identity: { id, name, plates } }: IdentityFacts): VNode {
  const form = useForm({ name, plates: plates.join('\n'), into: '' }, 'edit')
  const others = identities.filter((one) => one.id !== id)
  const target = others.find((one) => one.id === form.values.value.into)
  /** What was typed beside it is meant no more: nobody is asked whether to leave it. */
  async function toList(): Promise<void> {
    form.settle()
    await again()
    goTo('people')
  }
  async function save(): Promise<void> {
    const { name: next, plates: text } = form.values.value
    await peopleApi.change(id, { name: String(next).trim(), plates: platesIn(text) })
    form.settle()
    toast(texts.isChanged(String(next).trim()))
    await toList()
  }
  function submit(sent: Event): void {
    sent.preventDefault()
    void form.submit(save)
  }
  const merge = () =>
    doneOrSaid(() => peopleApi.merge(id, target?.id ?? ''), toList, texts.isMerged(name, target?.name ?? ''))
  const forget = () => doneOrSaid(() => peopleApi.forget(id), toList, texts.isForgotten(name))
  const isChanged = form.isChanged('name') || form.isChanged('plates')
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${name}>${formHead(name)}
    <div class="in stack">${input({ form, name: 'name', label: texts.nameLabel })}
      ${area({ form, name: 'plates', label: texts.platesLabel, rows: 3, hint: texts.platesHint })}
      ${others.length > 0 ? choice({ form, name: 'into', label: texts.sameAs, options: [['', texts.nobodyElse], ...others.map((one): [string, string] => [one.id, one.name])] }) : null}
      ${refusal(form)}<${Sightings} id=${id} /></div>
    <footer class="save"><${Asked} act="Forget" label=${texts.forgetNamed(name)} title=${texts.forgetQuestion(name)} text=${texts.forgettingMeans} sure=${texts.forgetNamed(name)} keep=${texts.keepNamed(name)} run=${forget} />
      ${target ? html`<${Asked} act="Merge" label=${texts.mergeNamed(name, target.name)} title=${texts.mergeQuestion(name, target.name)} text=${texts.mergingMeans(name, target.name)} sure=${texts.mergeNamed(name, target.name)} keep=${texts.keepBoth} run=${merge} />` : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || !isChanged}>${texts.save}</${Act}></footer></form>`
}

const MOST_SEEN = 6
/** Footage from a little before, so that one sees them come. */
const BEFORE_MS = 3000

/** When and where it was seen last. */
function Sightings({ id }: { id: string }): VNode | null {
  const [seen, setSeen] = useState<readonly SeenEvent[]>([])
  useLook(async () => setSeen(await peopleApi.seen(id, MOST_SEEN)), LOOK_MS, id)
  if (seen.length === 0) return html`<p class="small soft">${texts.notSeenYet}</p>`
  return html`<div><p class="small soft">${texts.seenLast}</p><ul class="plain">${seen.map(
    ({ camera_id: camera, camera_name: called, id: event, started_at: at }) =>
      html`<li key=${event} class="small"><a href=${linkTo('playback', camera, String(at - BEFORE_MS))}>${sinceText(at, daemonNow(), zone.value)}, ${called}</a></li>`,
  )}</ul></div>`
}

/** One a line, or with commas between. */
function platesIn(text: string | boolean | undefined): string[] {
  return String(text ?? '')
    .split(/[\n,;]+/)
    .map((plate) => plate.trim())
    .filter((plate) => plate !== '')
}
