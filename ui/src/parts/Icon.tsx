/** Our own icons: strokes on a grid of 20. */
const SHAPES = {
  home: "M3.5 9 10 3.5 16.5 9v7.5h-4.5v-5h-4v5H3.5z",
  memories: "M4 5.5h12M4 10h12M4 14.5h7",
  traces: "M3.5 4.5h6M6 8.2h7.5M9 11.9h5M11.5 15.6h5",
  graph: "M6.4 6.4l7.2 2.2M6.6 13.6l6.6-3.6M5 7v6M5 3.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6zM15 7.4a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6zM5 13.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
  playground: "M3.5 4.5h13v9h-6l-3.5 3v-3H3.5zM7 9h.01M10 9h.01M13 9h.01",
  documents: "M5 2.8h6.5L15 6.3v10.9H5zM11.3 2.8v3.7H15M7.6 10h4.8M7.6 13.2h4.8",
  admin: "M10 3l5.8 2.3v4.2c0 3.6-2.3 6.2-5.8 7.5-3.5-1.3-5.8-3.9-5.8-7.5V5.3zM7.6 9.9l1.8 1.8 3.1-3.4",
  search: "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4zM12.7 12.7 16.5 16.5",
  sun: "M10 6.8a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4zM10 2.5v1.6M10 15.9v1.6M2.5 10h1.6M15.9 10h1.6M4.7 4.7l1.1 1.1M14.2 14.2l1.1 1.1M4.7 15.3l1.1-1.1M14.2 5.8l1.1-1.1",
  moon: "M16 11.6A6.5 6.5 0 0 1 8.4 4a6.5 6.5 0 1 0 7.6 7.6z",
  help: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM8 8.1c.2-1.2 1-1.8 2.1-1.8 1.200 0 2 .8 2 1.800 0 1.700-2.100 1.700-2.100 3.300M10 13.9h.01",
  leave: "M8 3.500H4v13h4M8.500 10h8M13.500 6.800 16.700 10l-3.200 3.200",
  close: "M5 5l10 10M15 5 5 15",
  back: "M12 4.500 6.500 10l5.500 5.500",
  next: "M8 4.500 13.500 10 8 15.500",
  down: "M4.500 7.500 10 13l5.500-5.500",
  updown: "M6.500 8 10 4.500 13.500 8M6.500 12l3.500 3.500 3.500-3.500",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  whole: "M4 7.5V4h3.5M12.5 4H16v3.5M16 12.5V16h-3.5M7.5 16H4v-3.5",
  edit: "M4 16l.7-3.300 8.600-8.600 2.600 2.600-8.600 8.600zM11.500 5.900l2.600 2.600",
  pin: "M7.500 3h5l-.6 5 2.600 2.500h-9L8.100 8zM10 10.500V17",
  trash: "M4 5.500h12M8 5.500V3.500h4v2M5.500 5.500l.7 11h7.600l.7-11M8.500 8.500v5M11.500 8.500v5",
  link: "M8.500 11.500a3 3 0 0 0 4.300 0l2.400-2.400a3 3 0 0 0-4.300-4.300l-.9.9M11.500 8.500a3 3 0 0 0-4.300 0l-2.400 2.400a3 3 0 0 0 4.300 4.300l.9-.9",
  copy: "M7.500 7.500V4h8.500v8.500h-3.500M4 7.500h8.500V16H4z",
  check: "M4.500 10.500l3.700 3.700 7.300-8",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4.200l2.700 1.700",
  key: "M7 8.500a3.500 3.500 0 1 0 3.400 4.300h1.600v2h2v-2h2.500v-2.200h-6.100A3.500 3.500 0 0 0 7 8.500z",
  filter: "M3.500 5h13M6 10h8M8.500 15h3",
  more: "M4.500 10h.01M10 10h.01M15.500 10h.01",
  reload: "M15.500 7.500A6 6 0 1 0 16 11M15.800 3.800v3.900h-3.900",
  upload: "M10 13V4M6.500 7.500 10 4l3.500 3.500M4 13.500V16h12v-2.500",
  right: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM6.800 10.300l2.200 2.200 4.200-4.700",
  wrong: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM7.600 7.600l4.800 4.800M12.400 7.600l-4.800 4.800",
  review: "M4 5.500h7M4 10h4.500M4 14.500h4M11 13.200l2.200 2.200 4.300-5",
  merge: "M5 3.500v3c0 3 5 3 5 6.500v3.500M15 3.500v3c0 3-5 3-5 6.500",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg
      class="icon-svg"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={SHAPES[name]} />
    </svg>
  );
}

/** The mark: a holdfast, the root by which seaweed keeps to its rock. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path
        d="M16 5v10M16 15c0 5-2 8-7 11M16 15c0 5 2 8 7 11M16 15v12M10 8c0 5 2 7 6 8M22 8c0 5-2 7-6 8"
        fill="none"
        stroke="var(--on-accent)"
        stroke-width="2.2"
        stroke-linecap="round"
      />
    </svg>
  );
}
