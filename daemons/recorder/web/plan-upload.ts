/** What a plan itself is: its name and image, of a new one too, and its end. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { bytesText } from '#kit/web/numbers.ts'
import { Act, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { FileField } from './file-field.ts'
import { planApi, type SitePlan, type SitePlans } from './plan-api.ts'
import * as texts from './texts.ts'

interface UploadFacts {
  limits: SitePlans['limits']
  /** Asks for the plans anew. */
  again: () => Promise<void>
}

interface ImageFacts {
  act: string
  limits: SitePlans['limits']
  take: (file: File) => Promise<void>
}

function ImageField({ act, limits, take }: ImageFacts): VNode {
  const trouble = ({ size }: File) =>
    size > limits.bytes ? texts.imageTooLong(bytesText(size), bytesText(limits.bytes)) : null
  const hint = texts.planImageHint(bytesText(limits.bytes), limits.pixels)
  return html`<${FileField} label=${texts.planImage} act=${act} hint=${hint} accept="image/png,image/jpeg" trouble=${trouble} take=${take} />`
}

/** Adds a plan. */
export function NewPlan({ limits, again }: UploadFacts): VNode {
  const form = useForm({ name: '' }, 'draft')
  const [image, setImage] = useState<File | null>(null)
  async function save(): Promise<void> {
    if (!image) throw new Error(texts.imageFirst)
    const added = await planApi.add(String(form.values.value.name).trim(), image)
    await again()
    toast(texts.planIsAdded(added.name))
    form.settle()
    goTo('plan', added.id)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${texts.newPlan}>
    <header><h2>${texts.newPlan}</h2></header>
    <div class="in stack">${input({ form, name: 'name', label: texts.planName, placeholder: texts.planExample })}
      <${ImageField} act=${image ? image.name : texts.chooseImage} limits=${limits} take=${async (file: File) => setImage(file)} />
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Add plan</${Act}></footer></form>`
}

interface ItselfFacts extends UploadFacts {
  plan: SitePlan
}

/** Name, image, and the end of a plan. */
export function PlanItself({ plan, limits, again }: ItselfFacts): VNode {
  const form = useForm({ name: plan.name }, 'edit')
  const [isAsked, setAsked] = useState(false)
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(async () => {
      const { name } = await planApi.rename(plan.id, String(form.values.value.name).trim())
      form.settle({ name })
      await again()
      toast(texts.planIsRenamed(name))
    })
  }
  async function remove(): Promise<void> {
    try {
      await planApi.remove(plan.id)
      await again()
      toast(texts.planIsRemoved(plan.name))
      goTo('plan')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${plan.name}><header><h2>${texts.plan}</h2><div class="acts"><a class="btn" href=${linkTo('plan', 'new')}>${texts.newPlan}</a></div></header>
    <div class="in stack">${input({ form, name: 'name', label: texts.planName })}<${OtherImage} plan=${plan} limits=${limits} again=${again} />${refusal(form)}</div>
    <footer class="save"><${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}><${Act} type="submit" waits=${form.isBusy.value || !form.hasChanges()}>Save</${Act}></footer>
    ${isAsked ? html`<${Confirm} title=${texts.removePlanQuestion(plan.name)} text=${texts.removingPlanMeans} act=${texts.removePlan} keep=${texts.keepPlan} run=${() => void remove()} close=${() => setAsked(false)} />` : null}</form>`
}

/** Replaces the image of a plan. */
function OtherImage({ plan, limits, again }: ItselfFacts): VNode {
  async function take(file: File): Promise<void> {
    await planApi.replaceImage(plan.id, file)
    await again()
    toast(texts.imageIsReplaced)
  }
  return html`<${ImageField} act=${texts.replaceImage} limits=${limits} take=${take} />`
}
