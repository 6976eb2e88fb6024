/** What detectors call things, and the four groups in which people count them. */

/** Groups of labels. @source interface document 3, A, Event */
export const labelGroups = ['person', 'vehicle', 'animal', 'other'] as const

export type LabelGroup = (typeof labelGroups)[number]

/** What the built-in detector sees: that something moves, and never what it is. */
export const MOTION = 'motion'

/** What moves, and is nothing that a detector knows. */
export const UNKNOWN_THING = 'other'

/** As the labels of COCO, which most models share, and what cameras call theirs. */
const GROUP_OF: ReadonlyMap<string, LabelGroup> = new Map(
  Object.entries({
    person: ['person', 'face', 'pedestrian', 'rider'],
    vehicle: ['vehicle', 'car', 'truck', 'bus', 'motorcycle', 'bicycle', 'train', 'boat', 'airplane', 'van'],
    animal: 'animal bird cat dog horse sheep cow elephant bear zebra giraffe deer fox'.split(' '),
  }).flatMap(([group, labels]) => labels.map((label) => [label, group as LabelGroup])),
)

export function groupOf(label: string): LabelGroup {
  return GROUP_OF.get(label) ?? 'other'
}

export function isLabelGroup(text: string): text is LabelGroup {
  return labelGroups.some((group) => group === text)
}
