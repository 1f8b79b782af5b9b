/** Decorative icons, hidden from assistive technology; the surrounding control provides the label. */

import type { ComponentChildren, JSX } from "preact";

function Icon({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <svg class="icon-image" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

export const CalendarIcon = (): JSX.Element => (
  <Icon>
    <path d="M3.5 5.5h13v11h-13zM3.5 8.5h13M7 3v3M13 3v3" />
  </Icon>
);

export const CloseIcon = (): JSX.Element => (
  <Icon>
    <path d="m5.5 5.5 9 9m0-9-9 9" />
  </Icon>
);

export const LinkIcon = (): JSX.Element => (
  <Icon>
    <path d="M8.2 11.8a3 3 0 0 0 4.3 0l2.6-2.6a3 3 0 0 0-4.3-4.3L9.9 5.8M11.8 8.2a3 3 0 0 0-4.3 0l-2.6 2.6a3 3 0 0 0 4.3 4.3l.9-.9" />
  </Icon>
);

export const SunIcon = (): JSX.Element => (
  <Icon>
    <circle cx="10" cy="10" r="3.2" />
    <path d="M10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4M13.9 13.9l1.4 1.4M15.3 4.7l-1.4 1.4M6.1 13.9l-1.4 1.4" />
  </Icon>
);

export const MoonIcon = (): JSX.Element => (
  <Icon>
    <path d="M16.2 12.1A6.7 6.7 0 0 1 7.9 3.8a6.7 6.7 0 1 0 8.3 8.3z" />
  </Icon>
);

export const DownloadIcon = (): JSX.Element => (
  <Icon>
    <path d="M10 3.5v9m-3.5-3.3L10 12.7l3.5-3.5M4 16.5h12" />
  </Icon>
);

export const ArrowIcon = (): JSX.Element => (
  <Icon>
    <path d="M3.5 10h12.5m-4.5-4.5L16 10l-4.5 4.5" />
  </Icon>
);
