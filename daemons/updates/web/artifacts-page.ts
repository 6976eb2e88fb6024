/** Artifacts: what installations can take over, by type; uploading files of JSON, and deleting. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, isLost, zone } from '#kit/web/contact.ts'
import { segments } from '#kit/web/figures.ts'
import { choice, input, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { bytesText, listed, sinceText } from '#kit/web/numbers.ts'
import { icon, type Lit, lamp, say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { matches, Tools } from '#kit/web/tools.ts'
import { type Artifact, type ArtifactType, api, artifactsApi } from './api.ts'
import {
  addUploads,
  dropSent,
  dropUpload,
  MOST_UPLOADS,
  sendAgain,
  type Upload,
  type UploadState,
  uploads,
  whyNot,
} from './artifact-uploads.ts'
import * as texts from './texts.ts'

const LOOK_MS = 5000
const TYPES = Object.keys(texts.typeName) as ArtifactType[]

/** The page. @param what `upload`, or nothing */
export function ArtifactsPage({ what }: { what?: string }): VNode {
  const [all, setAll] = useState<readonly Artifact[] | null>(null)
  const [filter, setFilter] = useState('')
  const [type, setType] = useState<ArtifactType | ''>('')
  const { again, refused } = useLook(async () => setAll(await artifactsApi.list()), LOOK_MS)
  const arrived = uploads.value.filter(({ state }) => state === 'sent').length
  useEffect(() => {
    if (arrived > 0) void again()
  }, [arrived])
  useKeys(texts.artifacts, [{ key: 'n', what: texts.uploadKey, run: () => goTo('artifacts', 'upload') as undefined }])
  if (all === null)
    return html`<h1 class="sr">Artifacts</h1><section class="panel">${firstAnswer(refused, texts.askingArtifacts, texts.artifactsNotRead, () => void again())}</section>`
  const shown = all.filter((one) => (type === '' || one.type === type) && matches(wordsOf(one), filter))
  const isForm = what === 'upload'
  const options = [
    ['', `${texts.all} ${all.length || ''}`],
    ...TYPES.map((each) => [each, texts.typeShort[each]]),
  ] as const
  const seg = segments({
    label: texts.showOnly,
    name: 'type',
    value: type,
    options: options as readonly (readonly [string, string])[],
    choose: (value) => setType(value as typeof type),
  })
  return html`<h1 class="sr">Artifacts</h1>${verdict({ lit: all.length > 0 ? 'ok' : 'off', sentence: texts.artifactsAre(all.length), why: all.length > 0 ? texts.whoTakesThem : '' })}
    <div class=${isForm ? 'cols with-form' : ''}><section class="panel" aria-label="Artifacts"><${Tools} filter=${filter} setFilter=${setFilter} label=${texts.filterArtifacts} placeholder=${texts.filterArtifactsHint} more=${seg}>
        <a class=${isForm ? 'btn' : 'btn primary'} href=${linkTo('artifacts', 'upload')}>Upload</a></${Tools}>
      ${all.length === 0 ? say('off', texts.noArtifacts, texts.whatArtifactsAre) : shown.length === 0 ? say('off', texts.noArtifactMatches, texts.howToSeeAll) : table(shown, again)}</section>
      ${isForm ? html`<${UploadForm} />` : null}</div>`
}

function wordsOf({ description, filename, name, tags, version }: Artifact): string {
  return [name, filename, description, version, ...tags].join(' ')
}

function table(shown: readonly Artifact[], again: () => Promise<void>): VNode {
  const nowMs = daemonNow()
  return html`<table class="table fold rows still no-lit artifacts"><thead><tr><th>Name</th><th>Type, tags</th><th class="wide">Version</th><th class="n wide">Size</th><th>Changed</th><th><span class="sr">Delete</span></th></tr></thead>
    <tbody>${shown.map((one) => row(one, again, nowMs))}</tbody></table>`
}

function row(one: Artifact, again: () => Promise<void>, nowMs: number): VNode {
  const { filename, name, type } = one
  const remove = () => void doneOrSaid(() => artifactsApi.remove(one), again, texts.artifactIsDeleted(filename))
  return html`<tr key=${`${type}/${filename}`}><td class="name"><b>${name}</b><span class="under mono">${filename}</span>${one.description === '' ? null : html`<span class="under">${one.description}</span>`}</td>
    <td class="setup">${texts.typeName[type]}${one.tags.length > 0 ? html`<span class="under">${one.tags.join(', ')}</span>` : null}</td>
    <td class="wide">${one.version || html`<span class="faint">–</span>`}</td><td class="n wide">${bytesText(one.size)}</td>
    <td class="state">${sinceText(one.modified_at, nowMs, zone.value)}</td>
    <td class="n load"><${Asked} act=${texts.deleteIt} kind="quiet" label=${texts.deleteNamed(filename)} title=${texts.deleteArtifactQuestion(name)} text=${texts.deletingArtifactMeans} sure=${texts.deleteArtifact} keep=${texts.keepArtifact} run=${remove} /></td></tr>`
}

// Uploading.

const typeOptions = TYPES.map((each) => [each, texts.typeName[each]] as const)

/** What is said of the files, the button that picks them, and what becomes of each. */
function UploadForm(): VNode {
  const form = useForm({ type: 'command_set', description: '', version: '', tags: '', overwrite: false })
  const [mostBytes, setMost] = useState<number>()
  const [refused, setRefused] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const isPicked = useRef(false)
  useEffect(() => {
    // Without an answer the server says what is too large.
    api
      .settings()
      .then((known) => setMost(known.artifact_bytes))
      .catch(() => {})
  }, [])
  useEffect(() => {
    // A phone has them below the form.
    if (isPicked.current) document.getElementById('uploads')?.scrollIntoView({ block: 'nearest' })
    isPicked.current = false
  }, [uploads.value])
  function picked(): void {
    const files = [...(field.current?.files ?? [])]
    if (field.current) field.current.value = ''
    const faults = files.map((file) => whyNot(file, mostBytes))
    const { description, overwrite, tags, type, version } = form.values.value
    const facts = {
      type: type as ArtifactType,
      description: String(description),
      version: String(version).trim(),
      tags: String(tags),
      overwrite: overwrite === true,
    }
    const left = addUploads(
      files.filter((_, at) => faults[at] === undefined),
      facts,
    )
    setRefused(
      [...faults.filter((fault) => fault !== undefined), left > 0 ? texts.tooManyFiles(left, MOST_UPLOADS) : '']
        .filter(Boolean)
        .join(' '),
    )
    isPicked.current = true
  }
  const close = html`<a class="btn quiet icon" href=${linkTo('artifacts')} aria-label="Close upload">${icon('close')}</a>`
  return html`<div class="stack"><form class="panel" aria-label="Upload" novalidate onSubmit=${(event: Event) => event.preventDefault()}><header><h2>${texts.uploadArtifacts}</h2><div class="acts">${close}</div></header>
    <div class="in stack">
      ${choice({ form, name: 'type', label: texts.type, options: typeOptions, hint: texts.typeHints[form.values.value.type as ArtifactType] })}
      ${input({ form, name: 'description', label: texts.description })}
      ${input({ form, name: 'version', label: texts.versionLabel })}
      ${input({ form, name: 'tags', label: texts.tags, hint: texts.tagsHint })}
      ${toggle({ form, name: 'overwrite', label: texts.overwrite, hint: texts.overwriteHint })}
      ${refused === '' ? null : html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`}</div>
    <footer class="save"><span class="small faint">${mostBytes === undefined ? '' : texts.eachAtMost(bytesText(mostBytes))}</span>
      <button class="btn primary" type="button" disabled=${isLost.value} onClick=${() => field.current?.click()}>${texts.pickFiles}</button>
      <input ref=${field} class="sr" type="file" multiple tabindex="-1" accept=".json,application/json" aria-label=${texts.files} onChange=${picked} /></footer></form>
    ${uploads.value.length > 0 ? list(uploads.value) : null}</div>`
}

function list(all: readonly Upload[]): VNode {
  const isAnySent = all.some(({ state }) => state === 'sent')
  return html`<section class="panel" id="uploads" aria-label=${texts.uploadsLabel}><header><h2>${texts.uploadsLabel}</h2><span class="faint grow" role="status">${doneText(all)}</span>
      ${isAnySent ? html`<div class="acts"><button class="btn quiet" type="button" onClick=${dropSent}>${texts.clearSent}</button></div>` : null}</header>
    <ul class="came">${all.map(uploadLine)}</ul></section>`
}

function doneText(all: readonly Upload[]): string {
  const of = (state: UploadState) => all.filter((one) => one.state === state).length
  const open = of('waits') + of('sending')
  const parts = [
    open > 0 ? texts.filesOpen(open) : '',
    of('sent') > 0 ? texts.filesSent(of('sent')) : '',
    of('refused') > 0 ? texts.filesRefused(of('refused')) : '',
  ]
  return listed(parts.filter((part) => part !== ''))
}

const LITS: Readonly<Record<UploadState, Lit>> = { waits: 'off', sending: 'busy', sent: 'ok', refused: 'fault' }

function uploadLine(one: Upload): VNode {
  const { file, isTaken, key, sentBytes, sentence, state } = one
  const said: Child = {
    waits: texts.waitsForOthers,
    sending: sentBytes < file.size ? texts.sentOf(bytesText(sentBytes), bytesText(file.size)) : texts.isChecked,
    sent: texts.isUploaded,
    refused: sentence,
  }[state]
  const again = isTaken
    ? html`<button class="btn" type="button" aria-label=${texts.replaceNamed(file.name)} onClick=${() => sendAgain(key, true)}>${texts.replace}</button>`
    : html`<button class="btn" type="button" aria-label=${texts.againNamed(file.name)} onClick=${() => sendAgain(key)}>${texts.again}</button>`
  return html`<li key=${key} data-s=${LITS[state]}>${lamp(LITS[state], true)}<span><span class="mono break">${file.name}</span>
      ${state === 'refused' ? null : html`<progress max=${file.size || 1} value=${state === 'sent' ? file.size || 1 : sentBytes} aria-label=${texts.progressOf(file.name)}></progress>`}
      <span class="under">${said}</span></span>
    <span class="acts">${state === 'refused' ? again : null}${state === 'sent' ? null : html`<button class="btn quiet icon" type="button" aria-label=${texts.dropNamed(file.name)} onClick=${() => dropUpload(key)}>${icon('close')}</button>`}</span></li>`
}
